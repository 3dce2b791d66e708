package kernel

import (
	"errors"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// The kernel reports for each end of a pair where the other end is, and deletes both together. So
// the far end, which does not belong to the container, leads to the NIC. The far end may be a NIC
// of another container, too. Then it is not where it was when the near end was given away, and the
// interface with its old index may be any other. The user may also have moved or changed the far
// end.

// GivenNIC is a NIC that a container has, with the container's namespace. Its inode number is 0 if
// the namespace is not known.
type GivenNIC struct {
	heddle.NIC
	Inode, Cookie uint64
}

// holds reports whether the namespace is that of the container that has the NIC.
func (n GivenNIC) holds(ns *Netns) bool { return n.Inode != 0 && ns.Is(n.Inode, n.Cookie) }

// farMAC is the MAC address of the far end of a pair on the host; "" for other devices, and for a
// far end that is not on the host. The result still is false if the far end has left or come home
// since l was read: then its former holder may not be found.
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
		if n.Was.PeerElsewhere { // the other NIC was away, too, when this one left
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

// leastTries is how often a NIC is looked for before a doubt is reported.
const leastTries = 4

// byFarEnd asks the far end where the NIC is. A doubt may be due to a pair that is about to be
// deleted with the namespace of one of its ends, or to a far end that moved during the search. So
// byFarEnd repeats the search for some time, and at least a few times: on a full and busy host one
// search may take longer than that time.
func (h *nicReturn) byFarEnd() (f *found, doubt string, err error) {
	end := time.Now().Add(EndTime)
	for tries := 1; ; tries++ {
		f, doubt, err = h.farEndNow()
		if f != nil || err != nil || doubt == "" || tries >= leastTries && time.Now().After(end) {
			return f, doubt, err
		}
		h.closeOthers() // releases the search lock, so that others can search
		time.Sleep(EndTime / 20)
	}
}

// farEndNow finds the NIC in the present state, or says why it cannot be sure that the NIC is gone.
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
		// somebody has changed the MAC address, or the interface belongs to another pair
		return h.follow(*there, false, func(at *session, l linkState) bool { return at == h.pod || h.marked(l) })
	}
	return h.unfollowed(away)
}

// farThere returns the interface that is where the far end was when the NIC was given away. It
// returns nil if there is no interface of that kind, or if a container had the far end then, since
// a container can put any interface there.
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
		return nil, nil // the namespace is gone, or the interface is
	}
	return far, err
}

// farNow finds the far end on the host. If it is not there, farNow lists the NICs of other
// containers that may be the far end. The far end may come home or leave between the two looks, so
// one look alone does not prove that it is gone.
func (h *nicReturn) farNow() (far *linkState, away []GivenNIC, err error) {
	for range 3 {
		away = h.farAway()
		if far, err = h.farAtHome(); far != nil || len(away) > 0 || err != nil {
			break
		}
	}
	return far, away, err
}

// farAtHome finds the far end on the host by its MAC address, which no container can set there.
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

// follow finds the device at the other end of far, a device that the host sees; elsewhere says that
// far is in the namespace where the far end was. Accept reports whether the device found is the
// NIC.
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
