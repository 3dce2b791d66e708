package lab

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-network/heddle"
)

const (
	agentTime = 10 * time.Second // until the agent must answer
	logName   = "heddled.log"
	tailLines = 12
)

// awaitAgents waits until each agent answers.
func (c crew) awaitAgents(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, agentTime)
	defer cancel()
	for _, in := range c {
		if in.host.Socket == "" {
			continue
		}
		if err := in.host.awaitAgent(ctx, in.reports); err != nil {
			return err
		}
	}
	return nil
}

// awaitAgent waits until the agent takes a connection. Ended is told when the
// agent ends; it may be nil.
func (h *Host) awaitAgent(ctx context.Context, ended <-chan string) error {
	for {
		if c, err := net.Dial("unix", h.Socket); err == nil {
			return c.Close()
		}
		select {
		case line, open := <-ended:
			if !open {
				line = "the host's init ended"
			}
			return h.agentFailed(errors.New(line))
		case <-ctx.Done():
			return h.agentFailed(errors.New("it does not answer: " + context.Cause(ctx).Error()))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// agentFailed shows the end of the agent's log: the folder is gone by the time
// the caller could look.
func (h *Host) agentFailed(cause error) error {
	tail := tail(h.Log)
	if tail != "" {
		cause = errors.New(cause.Error() + "; its log ends:\n" + tail)
	}
	return heddle.Wrap(heddle.LabFailed, "start the agent of", h.Name, cause, "")
}

func tail(file string) string {
	b, _ := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// StartAgent starts the host's agent again, after it ended or was killed, and
// waits until it answers. A running agent is left alone.
func (h *Host) StartAgent(ctx context.Context) error {
	if h.Socket == "" {
		return heddle.Errorf(heddle.NoLab, "start the agent of", h.Name, "the lab was made without agents")
	}
	if err := h.signal(syscall.SIGHUP); err != nil {
		return heddle.Wrap(heddle.LabFailed, "reach the host", h.Name, err, "")
	}
	ctx, cancel := context.WithTimeout(ctx, agentTime)
	defer cancel()
	return h.awaitAgent(ctx, nil)
}
