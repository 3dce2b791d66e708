package kernel

import (
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// carrierPatience bounds the wait for a link to begin to send.
const carrierPatience = time.Second

// carry waits until the new links send. A link that is set up has the queue
// "noop", which drops, until the kernel's link watch has seen the carrier
// (net/core/link_watch.c); an endpoint that is reported as made must not lose
// its first packet to that. Asking for the link makes kernels from 6.8 on look. A
// link whose other end is left down has no carrier before somebody sets that up.
func (a *attempt) carry(s *site, links []heddle.Link) error {
	for _, l := range links {
		if s == nil || l.Kind != "veth" || l.Down || !a.fresh[s.side()+l.Name] {
			continue
		}
		if slices.ContainsFunc(links, func(o heddle.Link) bool { return o.Name == l.Peer && o.Down }) {
			continue
		}
		for end := time.Now().Add(carrierPatience); time.Now().Before(end); time.Sleep(time.Millisecond) {
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
