package kernel

import (
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// settleTimeout bounds the wait until links can send and addresses are local to the namespace.
// Docker must have its answer within two seconds.
const settleTimeout = time.Second

// settling is the wait for everything that one call made. It begins when its deadline is first
// asked for.
type settling struct{ since time.Time }

func (s *settling) over() bool {
	if s.since.IsZero() {
		s.since = time.Now()
	}
	return time.Since(s.since) > settleTimeout
}

// awaitCarrier waits until the new links can send. A link that is set up has the queue "noop",
// which drops packets, until the kernel's link watch has seen the carrier (net/core/link_watch.c).
// An endpoint that is reported as made must not lose its first packet to that queue. On kernels
// from 6.8 on, a request for the link makes the kernel look at the carrier. A link whose far end is
// down has no carrier until somebody sets the far end up.
func (a *attempt) awaitCarrier(s *session, links []heddle.Link) error {
	for _, l := range links {
		if s == nil || l.Kind != "veth" || l.Down || !a.fresh[s.side()+l.Name] {
			continue
		}
		if slices.ContainsFunc(links, func(o heddle.Link) bool { return o.Name == l.Peer && o.Down }) {
			continue
		}
		for ; !a.settling.over(); time.Sleep(time.Millisecond) {
			live, err := s.link(l.Name)
			if err != nil || live == nil || live.queue != "noop" {
				break
			}
		}
	}
	return nil
}

// queueOf reads the name of a link's queueing discipline.
func queueOf(at attributes) string { return text(at.get(unix.IFLA_QDISC)) }
