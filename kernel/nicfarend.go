package kernel

import (
	"errors"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// The kernel says of each end of a pair where the other is, and ends them together. So
// the far end, which is not the container's, leads to the NIC. It may be a NIC, too, and
// with another container: then it is not where it was when the near one was given away,
// and what is at its number there may be anything. The user may have moved it or changed
// it as well.

// GivenNIC is a NIC that a container has, and the container's namespace: 0 if that is
// not known.
type GivenNIC struct {
	heddle.NIC
	Inode, Cookie uint64
}

// holds reports whether the namespace is that of the container which has the NIC.
func (n GivenNIC) holds(ns *Netns) bool { return n.Inode != 0 && ns.Is(n.Inode, n.Cookie) }

// farMAC is the MAC address that the far end of a pair has on the host; "" of others,
// and of one that is not the host's. It is not still so if the far end has left or come
// home since l was read: then nobody may be found who had it.
func (k *Kernel) farMAC(s *session, l linkState) (mac heddle.MAC, still bool, err error) {
	if !l.paired() || l.peer == 0 {
		return "", true, nil
	}
	if mac, err = k.farMACNow(s, l); err != nil {
		return "", false, err
	}
	now, err := s.linkIn(l.index, nil)
	if err != nil || now == nil {
		return "", false, err
	}
	moved := now.peer != l.peer || now.elsewhere != l.elsewhere || now.nsid != l.nsid
	return mac, !moved && (mac != "" || l.elsewhere), nil
}

func (k *Kernel) farMACNow(s *session, l linkState) (heddle.MAC, error) {
	if !l.elsewhere {
		far, err := s.linkIn(l.peer, nil)
		if err != nil || far == nil {
			return "", err
		}
		return far.mac, nil
	}
	away := k.givenAway()
	i := slices.IndexFunc(away, func(n GivenNIC) bool {
		if n.Was.PeerElsewhere { // this one was away, too, when that one left
			return n.Was.Kind == l.kind && n.Was.FarMAC == l.mac
		}
		return n.Was.Kind == l.kind && n.Was.Peer == l.index
	})
	if i < 0 {
		return "", nil
	}
	return away[i].MAC, nil
}

func (k *Kernel) givenAway() []GivenNIC {
	if k.GivenAway == nil {
		return nil
	}
	return k.GivenAway()
}

// leastTries is how often a NIC is looked for before a doubt is told.
const leastTries = 4

// byFarEnd asks the far end where the NIC is. A doubt may be due to a pair that is about
// to end, with the namespace of one of its ends, or to one whose far end moved while the
// NIC was looked for: it is looked into again, for a while and some times. On a host that
// is full and busy, one search may take longer than the while.
func (h *nicReturn) byFarEnd() (f *found, doubt string, err error) {
	end := time.Now().Add(EndTime)
	for tries := 1; ; tries++ {
		f, doubt, err = h.farEndNow()
		if f != nil || err != nil || doubt == "" || tries >= leastTries && time.Now().After(end) {
			return f, doubt, err
		}
		h.closeOthers() // others search, too
		time.Sleep(EndTime / 20)
	}
}

// farEndNow finds the NIC as things are now, or says why it cannot be said to be gone.
func (h *nicReturn) farEndNow() (f *found, doubt string, err error) {
	w := h.n.Was
	there, err := h.farThere()
	if err != nil {
		return nil, "", err
	}
	if there != nil && (w.FarMAC == "" || there.mac == w.FarMAC) {
		return h.follow(*there, w.PeerElsewhere, func(*session, linkState) bool { return true })
	}
	far, away, err := h.farNow()
	switch {
	case err != nil:
		return nil, "", err
	case far != nil:
		return h.follow(*far, false, func(*session, linkState) bool { return true })
	case len(away) == 0 && there != nil && there.elsewhere:
		// somebody has changed its MAC address, or it is another pair's
		return h.follow(*there, false, func(at *session, l linkState) bool { return at == h.pod || h.marked(l) })
	}
	return h.unfollowed(away)
}

// farThere is what is where the far end was when the NIC was given away; nil if nothing
// of its kind is, or a container had it then, which can put there what it likes.
func (h *nicReturn) farThere() (*linkState, error) {
	w := h.n.Was
	var number *int
	if w.PeerElsewhere {
		if w.FarMAC != "" {
			return nil, nil
		}
		number = &w.PeerNSID
	}
	far, err := h.host.linkIn(w.Peer, number)
	if errors.Is(err, unix.EINVAL) || far != nil && far.kind != w.Kind {
		return nil, nil // its namespace is gone, or it is
	}
	return far, err
}

// farNow finds the far end on the host, or else the NICs of other containers that may be
// it. It may come home or leave between the two looks, so that neither alone proves that
// it is gone.
func (h *nicReturn) farNow() (far *linkState, away []GivenNIC, err error) {
	for range 3 {
		away = h.farAway()
		if far, err = h.farAtHome(); far != nil || len(away) > 0 || err != nil {
			break
		}
	}
	return far, away, err
}

// farAtHome finds the far end on the host by its MAC address, which no container sets
// there.
func (h *nicReturn) farAtHome() (*linkState, error) {
	if h.n.Was.FarMAC == "" {
		return nil, nil
	}
	f, err := look([]*session{h.host}, func(_ *session, l linkState) bool {
		return l.kind == h.n.Was.Kind && l.mac == h.n.Was.FarMAC && !l.ours()
	})
	if f == nil {
		return nil, err
	}
	return &f.link, nil
}

// farAway lists the NICs with containers that may be the far end.
func (h *nicReturn) farAway() []GivenNIC { return h.k.farEnds(h.n) }

// farEnds lists the NICs with containers that may be the far end of one.
func (k *Kernel) farEnds(of heddle.NIC) []GivenNIC {
	return slices.DeleteFunc(k.givenAway(), func(n GivenNIC) bool {
		return of.Was.FarMAC == "" || n.MAC != of.Was.FarMAC || n.Was.Kind != of.Was.Kind
	})
}

// follow finds the device at the other end of one that the host sees; elsewhere says that
// this one is in the namespace where the far end was. Accept says whether that device is
// the NIC.
func (h *nicReturn) follow(far linkState, elsewhere bool, accept func(at *session, l linkState) bool) (f *found, doubt string, err error) {
	here := func(n *Netns) bool {
		id, err := h.host.readNumber(n)
		switch {
		case err != nil:
			return false
		case far.elsewhere:
			return id == far.nsid
		}
		return elsewhere && id == h.n.Was.PeerNSID || !elsewhere && n.Same(h.host.ns)
	}
	is := func(at *session, l linkState) bool {
		return l.index == far.peer && l.kind == far.kind && l.peer == far.index && here(at.ns) && accept(at, l)
	}
	return h.search(is, func(bool) bool { return false }, "the far end of its wire says that it is there, in a namespace that is not found")
}
