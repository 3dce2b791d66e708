package lab

import (
	"context"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
)

// agentTime is how long an agent may take until it answers.
const agentTime = 2 * time.Minute

// StartAgent starts the host's agent, for the first time or after it ended or
// was killed, and waits until it answers. The arguments replace those given by
// Options or by an earlier call; without any, these stay. A running agent is left
// alone: it cannot take other arguments.
func (h *Host) StartAgent(ctx context.Context, args ...string) error {
	s, err := h.agentSpec()
	if err != nil {
		return err
	}
	if h.answers() {
		if len(args) > 0 {
			return heddle.Errorf(heddle.LabFailed, "start agent of", h.Name,
				"it runs already, and takes no other arguments", "kill it first")
		}
		return nil
	}
	p := s.program(agentProgram)
	if p == nil {
		p = &program{Name: agentProgram, Argv: slices.Concat(s.Agent, s.AgentArgs), Env: s.AgentEnv}
	}
	if len(args) > 0 {
		p.Argv = slices.Concat(s.Agent, args)
	}
	return h.startAgent(ctx, *p)
}

func (h *Host) startAgent(ctx context.Context, p program) error {
	ctx, cancel := context.WithTimeout(ctx, h.timeLimit(agentTime))
	defer cancel()
	if err := h.launch(ctx, p); err != nil {
		return err
	}
	return h.await(ctx, agentProgram, h.answers)
}

// agentSpec returns the host's record, or an error if the host has no agent.
func (h *Host) agentSpec() (spec, error) {
	if h.Socket == "" {
		return spec{}, heddle.Errorf(heddle.LabFailed, "find agent of", h.Name,
			"the lab was made without agents", "make the lab anew without --no-agent")
	}
	s, err := readSpec(h.folder)
	if err != nil {
		return s, heddle.Wrap(heddle.LabFailed, "read record of", h.Name, err, "")
	}
	return s, nil
}

// answers reports whether the agent accepts a connection.
func (h *Host) answers() bool {
	return h.connects(socket)
}
