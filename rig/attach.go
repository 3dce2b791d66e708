package rig

import (
	"context"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
)

// canAttach reports whether an agent makes links in this mode, and can make any number of
// them.
func canAttach(mode string) bool {
	return mode != bench.Control && mode != modeDirect && !withoutAgent(mode)
}

// attachOn makes a container on the first host. It returns a function that attaches it,
// reports the agent's time, and detaches it.
func (r *Rig) attachOn(ctx context.Context, s *testLab, mode string) (func(context.Context) (time.Duration, error), error) {
	h, agent := s.lab.Hosts[0], s.agents[0]
	id := heddle.EndpointID{Container: mode + "-more", IfName: "eth0"}
	request := heddle.AttachRequest{Network: "bench-" + mode, ID: id, Owner: "bench", Netns: "/run/netns/" + id.Container}
	if err := r.makeNamespace(ctx, h, id.Container); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (time.Duration, error) {
		start := time.Now()
		_, err := agent.Attach(ctx, request)
		took := time.Since(start)
		if err == nil {
			_, err = agent.Detach(ctx, id)
		}
		return took, err
	}, nil
}
