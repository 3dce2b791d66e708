package engine

import (
	"context"
	"fmt"
	"maps"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/heddle-network/heddle"
)

// several is how many containers are removed at once by a client that bears it.
func several() int { return 2 * runtime.NumCPU() }

// removeAll removes the containers of a crowd whose names are chosen. Those that are gone by then are no error.
func removeAll(ctx context.Context, c maker, h home, chosen func(name string) bool) error {
	all, err := c.list(ctx, h)
	if err != nil {
		return err
	}
	var removing errgroup.Group
	removing.SetLimit(c.atOnce())
	for name, id := range all {
		if chosen(name) {
			removing.Go(func() error { return c.remove(ctx, h, name, id) })
		}
	}
	failed := removing.Wait()
	if failed == nil {
		return nil
	}
	if all, err = c.list(ctx, h); err != nil {
		return err
	}
	maps.DeleteFunc(all, func(name, _ string) bool { return !chosen(name) })
	if len(all) > 0 {
		return heddle.Wrap(heddle.CrowdFailed, "remove containers of", fmt.Sprintf("%d users", len(all)), failed, "call 'heddle crowd down' later")
	}
	return nil
}
