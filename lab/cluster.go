package lab

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

const tokenTime = 30 * time.Second

// startAgents starts all agents, side by side; with an embedded store the first
// makes the cluster, and the others join it.
func (l *Lab) startAgents(ctx context.Context) error {
	all := slices.DeleteFunc(l.agents(), func(h *Host) bool { return l.Topology.findNode(h.Name).Agent.Later })
	if len(all) == 0 {
		return nil
	}
	l.Topology.Progress("starting the agents")
	if l.Topology.Store == StoreEmbedded {
		return l.startCluster(ctx, all[0], all[1:])
	}
	return eachHost(all, func(h *Host) error { return h.StartAgent(ctx) })
}

func (l *Lab) startCluster(ctx context.Context, first *Host, others []*Host) error {
	if err := l.startMember(ctx, first, "--store", StoreEmbedded); err != nil {
		return err
	}
	if len(others) == 0 {
		return nil
	}
	token, err := first.token(ctx, len(others))
	if err != nil {
		return heddle.Wrap(heddle.LabFailed, "take a token from", first.Name, err, "")
	}
	// One after the other: each that votes changes the members.
	for _, h := range others {
		l.Topology.Progress("joining " + h.Name)
		n := l.Topology.findNode(first.Name)
		if err := l.startMember(ctx, h, "--join", n.address().String(), "--token", token); err != nil {
			return err
		}
	}
	return nil
}

// startMember starts an agent with its own arguments after the cluster's.
func (l *Lab) startMember(ctx context.Context, h *Host, args ...string) error {
	args = append(args, "--underlay", uplink)
	return h.StartAgent(ctx, slices.Concat(args, l.Topology.findNode(h.Name).Agent.Args)...)
}

// token asks the host's agent for a token for so many others, with the heddle beside the agent.
// An agent that answers may still have to find its store's leader, hence the
// patience.
func (h *Host) token(ctx context.Context, uses int) (string, error) {
	s, err := h.agentSpec()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, h.patience(tokenTime))
	defer cancel()
	for {
		cmd, err := h.Command(ctx, filepath.Join(filepath.Dir(s.Agent[0]), heddle.Mark), "--socket", socket, "host", "token", "--uses", strconv.Itoa(uses))
		if err != nil {
			return "", err
		}
		cmd.Env = insideEnvironment()
		var words bytes.Buffer
		cmd.Stderr = &words
		out, err := cmd.Output()
		if token := strings.TrimSpace(string(out)); err == nil && token != "" {
			return token, nil
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			return "", errors.New("'heddle host token' prints none: " + strings.TrimSpace(words.String()))
		}
	}
}

// eachHost does something for all hosts at once, and returns the first error.
func eachHost(hosts []*Host, do func(*Host) error) error {
	errs := make(chan error, len(hosts))
	for _, h := range hosts {
		go func() { errs <- do(h) }()
	}
	var first error
	for range hosts {
		if err := <-errs; first == nil {
			first = err
		}
	}
	return first
}
