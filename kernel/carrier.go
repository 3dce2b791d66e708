package kernel

import (
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// settleTimeout bounds the wait for links to send and addresses to be the namespace's
// own: Docker is to have its answer within two seconds.
const settleTimeout = time.Second

// settling is one such wait, for all that was made at once. It begins when it is first
// asked for its end.
type settling struct{ since time.Time }

func (s *settling) over() bool {
	if s.since.IsZero() {
		s.since = time.Now()
	}
	return time.Since(s.since) > settleTimeout
}

// awaitCarrier waits until the new links send. A link that is set up has the queue
// "noop", which drops, until the kernel's link watch has seen the carrier
// (net/core/link_watch.c); an endpoint that is reported as made must not lose
// its first packet to that. Asking for the link makes kernels from 6.8 on look. A
// link whose other end is left down has no carrier before somebody sets that up.
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
func queueOf(attributes map[uint16][]byte) string { return text(attributes[unix.IFLA_QDISC]) }
