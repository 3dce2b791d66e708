package stage

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

// detach detaches endpoints, also if one cannot be, and returns the first error.
func (s *Stage) detach(ctx context.Context, all map[heddle.EndpointID]place) (first error) {
	s.awaitAgents(ctx)
	of := map[place][]heddle.EndpointID{}
	for id, at := range all {
		of[at] = append(of[at], id)
	}
	for at, ids := range of {
		first = cmp.Or(first, s.detachAt(ctx, at, ids))
	}
	return first
}

// detachAt detaches the endpoints of one place.
func (s *Stage) detachAt(ctx context.Context, at place, ids []heddle.EndpointID) (first error) {
	down := eachOf(ctx, len(ids), func(i int) error {
		_, err := at.agent.Detach(ctx, ids[i])
		if errors.Is(err, heddle.AgentDown.Sentinel()) {
			return err // so it is for all others
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
	return cmp.Or(first, down)
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
		for down(ctx, p.agent) {
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return
			}
		}
	}
}

func down(ctx context.Context, agent *client.Client) bool {
	_, err := agent.Status(ctx)
	return errors.Is(err, heddle.AgentDown.Sentinel())
}
