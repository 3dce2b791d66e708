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

// startAgents starts all agents at the same time. With an embedded store the first
// makes the cluster, and the others join it one after the other.
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

// Keepers names the hosts that shall be members of the store besides the first host. With
// three or more hosts in total the store has three members, with five or more it has five.
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

// tokenFile holds the token with which a host joins.
const tokenFile = "/run/heddle-join.token"

// PutToken writes a token to a file in the host that only root can read, and returns its
// path in the host.
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

// startMember starts an agent with the cluster's arguments, followed by its own.
func (l *Lab) startMember(ctx context.Context, h *Host, args ...string) error {
	args = append(args, "--underlay", uplink)
	return h.StartAgent(ctx, slices.Concat(args, l.Topology.findNode(h.Name).Agent.Args)...)
}

// heddle runs the heddle command in the host, and returns what it prints. It tries again
// for some time: an agent that answers may still have to find its store's leader.
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

// eachHost calls do for all hosts at the same time, and returns the first error.
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
