package machine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// findEvery is how often it is looked who else is there.
const findEvery = 100 * time.Millisecond

// Gather waits until all other parts are there, and known. The context's end is the last moment.
func (g *Group) Gather(ctx context.Context) error {
	for {
		found, err := g.Find(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		for _, f := range found {
			g.peers[g.index(f.Part.Number)].found(f)
		}
		missing := g.missing()
		if missing == nil {
			return nil
		}
		select {
		case <-time.After(findEvery):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", strings.Join(missing, "; "), ctx.Err())
		}
	}
}

// Present is the error of parts that have gone before the begin; nil if all are there.
func (g *Group) Present() error {
	if missing := g.missing(); missing != nil {
		return TooLate(g.Part, strings.Join(missing, "; "), 10*time.Second)
	}
	return nil
}

// index is where a part is among the others.
func (g *Group) index(number int) int {
	if number > g.Part.Number {
		return number - 2
	}
	return number - 1
}

// missing says of each part that has not been met why.
func (g *Group) missing() (all []string) {
	for _, p := range g.peers {
		if why := p.missing(); why != "" {
			all = append(all, "part "+p.Part.String()+" "+why)
		}
	}
	return all
}

// TooLate is the error of a part that could not begin in time, as it was late itself, or others were not there. It could begin so long
// from now.
func TooLate(p Part, why string, needs time.Duration) error {
	return heddle.Errorf(heddle.CrowdFailed, "begin part "+p.String()+" of", "a crowd", why,
		fmt.Sprintf("start all parts again, with a --begin that is %s away or more", needs))
}
