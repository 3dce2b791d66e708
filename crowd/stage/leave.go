package stage

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

// detach detaches endpoints, also if one cannot be, and returns the first error.
func (s *Stage) detach(ctx context.Context, all map[heddle.EndpointID]place) (first error) {
	s.awaitAgents(ctx)
	var down sync.Map // places whose agents do not answer: none of the others there can be detached
	ids := slices.Collect(maps.Keys(all))
	ended := eachOf(ctx, len(ids), func(i int) error {
		at := all[ids[i]]
		if _, is := down.Load(at); is {
			return nil
		}
		_, err := at.Agent.Detach(ctx, ids[i])
		if errors.Is(err, heddle.AgentDown.Sentinel()) {
			down.Store(at, true)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			delete(s.all, ids[i])
		} else if first == nil {
			first = err
		}
		return nil
	})
	return cmp.Or(first, ended)
}

// leave lets go of the namespaces.
func (s *Stage) leave() {
	for _, p := range s.places {
		p.holder.Close()
	}
}

// awaitAgents waits a little for agents that are being restarted.
func (s *Stage) awaitAgents(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for _, p := range s.places {
		for !p.gone() && isDown(ctx, p.Agent) {
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return
			}
		}
	}
}

// isDown reports whether an agent does not answer.
func isDown(ctx context.Context, agent *client.Client) bool {
	_, err := agent.Status(ctx)
	return errors.Is(err, heddle.AgentDown.Sentinel())
}
