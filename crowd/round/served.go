package round

import (
	"context"
	"io"
	"maps"
	"sync"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// served is how many connections are open at most to each service that is by a program.
func served(ctx context.Context, s scenario.Scenario, drawn *plan.Plan) (map[string]int64, error) {
	if len(s.Programs()) == 0 {
		return nil, nil
	}
	sum, err := drawn.Write(ctx, io.Discard)
	return sum.Served, err
}

// gone keeps which programs of services have ended.
type gone struct {
	tell func(string)
	mu   sync.Mutex
	how  map[string]string
}

func (g *gone) add(service, how string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.how == nil {
		g.how = map[string]string{}
	}
	g.how[service] = how
	g.tell("service " + service + ": " + how)
}

// all lists those until now.
func (g *gone) all() map[string]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.how)
}
