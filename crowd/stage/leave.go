package stage

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/heddle-network/heddle"
)

// detach detaches endpoints, also if one cannot be, and returns the first error.
func (s *Stage) detach(ctx context.Context, all []heddle.EndpointID) (first error) {
	s.awaitAgent(ctx)
	down := eachOf(ctx, len(all), func(i int) error {
		_, err := s.options.Agent.Detach(ctx, all[i])
		if errors.Is(err, heddle.AgentDown.Sentinel()) {
			return err // so it is for all others
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil {
			delete(s.all, all[i])
		} else if first == nil {
			first = err
		}
		return nil
	})
	return cmp.Or(first, down)
}

// leave lets go of the namespaces.
func (s *Stage) leave() {
	if s.holder != nil {
		s.holder.Close()
	}
}

// awaitAgent waits a little for an agent that is being restarted.
func (s *Stage) awaitAgent(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		_, err := s.options.Agent.Status(ctx)
		if !errors.Is(err, heddle.AgentDown.Sentinel()) {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}
