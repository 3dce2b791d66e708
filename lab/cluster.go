package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	token, err := first.heddle(ctx, "host", "token", "--uses", strconv.Itoa(len(others)))
	if err != nil {
		return heddle.Wrap(heddle.LabFailed, "get token from", first.Name, err, "")
	}
	for _, h := range others {
		l.Topology.Progress("joining " + h.Name)
		file, err := h.PutToken(ctx, token)
		if err != nil {
			return err
		}
		n := l.Topology.findNode(first.Name)
		if err := l.startMember(ctx, h, "--join", n.address().String(), "--token-file", file); err != nil {
			return err
		}
	}
	if names := Keepers(others); len(names) > 0 {
		if _, err := first.heddle(ctx, append([]string{"host", "promote"}, names...)...); err != nil {
			return heddle.Wrap(heddle.LabFailed, "promote hosts", strings.Join(names, ", "), err, "")
		}
	}
	return nil
}

// Keepers are those of the hosts that join a first one that are to keep the store
// beside it: of three hosts and more three keep it, of five and more five.
func Keepers(joined []*Host) []string {
	var names []string
	for _, h := range joined {
		names = append(names, h.Name)
	}
	switch n := len(joined) + 1; {
	case n >= 5:
		return names[:4]
	case n >= 3:
		return names[:2]
	}
	return nil
}

// tokenFile is where a host has the token that it joins by.
const tokenFile = "/run/heddle-join.token"

// PutToken writes a token to a file in the host that its agent alone can read, and
// returns the path there.
func (h *Host) PutToken(ctx context.Context, token string) (string, error) {
	cmd, err := h.Command(ctx, "sh", "-c", "umask 077; rm -f "+tokenFile+"; cat >"+tokenFile)
	if err != nil {
		return "", err
	}
	cmd.Stdin = strings.NewReader(token)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", heddle.Wrap(heddle.LabFailed, "write token in", h.Name, fmt.Errorf("%w: %s", err, out), "")
	}
	return tokenFile, nil
}

// startMember starts an agent with its own arguments after the cluster's.
func (l *Lab) startMember(ctx context.Context, h *Host, args ...string) error {
	args = append(args, "--underlay", uplink)
	return h.StartAgent(ctx, slices.Concat(args, l.Topology.findNode(h.Name).Agent.Args)...)
}

// heddle runs the heddle beside the host's agent about that, and returns what it
// prints. An agent that answers may still have to find its store's leader, hence the
// patience.
func (h *Host) heddle(ctx context.Context, args ...string) (string, error) {
	s, err := h.agentSpec()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, h.timeLimit(tokenTime))
	defer cancel()
	for {
		cmd, err := h.Command(ctx, append([]string{filepath.Join(filepath.Dir(s.Agent[0]), heddle.Mark), "--socket", socket}, args...)...)
		if err != nil {
			return "", err
		}
		cmd.Env = insideEnvironment()
		var words bytes.Buffer
		cmd.Stderr = &words
		out, err := cmd.Output()
		if text := strings.TrimSpace(string(out)); err == nil && text != "" {
			return text, nil
		}
		if pause(ctx, 100*time.Millisecond) != nil {
			return "", errors.New("'heddle " + strings.Join(args, " ") + "' fails: " + strings.TrimSpace(words.String()))
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
