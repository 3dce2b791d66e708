package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/test/world"
)

// TestEventsOfPeers has a host read, as events, what happens to its peer: it joins, its
// path goes down and up again, and it is removed.
func TestEventsOfPeers(t *testing.T) {
	t.Parallel() // it mostly waits
	f := newCluster(t, 2)
	h, other := f.hosts[0], f.hosts[1]
	h.tells(t, "peer created host2", "path up host2")
	other.Sh(t, "ip link set eth0 down")
	h.tells(t, "path down host2")
	other.Sh(t, "ip link set eth0 up")
	h.tells(t, "path down host2", "path up host2")
	other.kill(t)
	world.Within(t, 2*time.Minute, "the host is removed", func() error {
		out, err := h.tryCLI(t, "host", "remove", "host2", "--force")
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	h.tells(t, "path up host2", "peer removed host2")
}

// tells waits until the host's log of events has these about peers and paths, in this
// order, whatever else is between them.
func (h *host) tells(t *testing.T, want ...string) {
	t.Helper()
	world.Within(t, 2*time.Minute, fmt.Sprintf("events tell %q", want), func() error {
		left, seen := want, []string{}
		s, err := h.Events(context.Background(), client.EventQuery{Since: "all", Filter: []string{"kind=peer", "kind=path"}, Once: true})
		if err != nil {
			return err
		}
		defer s.Close()
		for {
			e, err := s.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return err
			}
			seen = append(seen, fmt.Sprintf("%s %s %s", e.Kind, e.Action, e.Object))
			if len(left) > 0 && seen[len(seen)-1] == left[0] {
				left = left[1:]
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("no %q in %q", left, seen)
		}
		return nil
	})
}
