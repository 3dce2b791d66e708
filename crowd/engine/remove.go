package engine

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/heddle-network/heddle"
)

// several is how many containers are removed at once by a client that bears it.
func several() int { return 2 * runtime.NumCPU() }

// removeAll removes the chosen containers of a crowd. Those that are gone by then are no error.
func removeAll(ctx context.Context, c maker, h home, choose func(map[string]string) []string) error {
	all, err := c.list(ctx, h)
	if err != nil {
		return err
	}
	var removing errgroup.Group
	removing.SetLimit(c.atOnce())
	for _, id := range choose(all) {
		removing.Go(func() error { return c.remove(ctx, h, id) })
	}
	failed := removing.Wait()
	if failed == nil {
		return nil
	}
	if all, err = c.list(ctx, h); err != nil {
		return err
	}
	if left := choose(all); len(left) > 0 {
		return heddle.Wrap(heddle.CrowdFailed, "remove containers of", fmt.Sprintf("%d users", len(left)), failed, "call 'heddle crowd down' later")
	}
	return nil
}
