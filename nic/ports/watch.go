package ports

import (
	"context"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/events"
)

// Watch is a service.Watch. It reads the agent's events.
func (p Ports) Watch(ctx context.Context, begun func(), changed func(machine string, gone bool)) error {
	s, err := p.agent.Events(ctx, client.EventQuery{Filter: []string{"kind=" + string(events.Endpoint), "label=" + LabelMachine}})
	if err != nil {
		return err
	}
	defer s.Close()
	begun()
	for {
		e, err := s.Next()
		if err != nil {
			return err
		}
		changed(e.Labels[LabelMachine], e.Action == events.Detached)
	}
}
