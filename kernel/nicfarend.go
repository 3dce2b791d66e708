package kernel

import (
	"slices"

	"github.com/heddle-network/heddle"
)

// The far end of a pair may be a NIC, too, and with another container: then it is not
// where it was when the near one was given away.

// farMAC is the MAC address that the far end of a pair has on the host; "" of others,
// and of one that is not the host's. It is not still so if the far end has left or come
// home since l was read: then nobody may be found who had it.
func (k *Kernel) farMAC(s *site, l linkState) (mac heddle.MAC, still bool, err error) {
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

func (k *Kernel) farMACNow(s *site, l linkState) (heddle.MAC, error) {
	if !l.elsewhere {
		far, err := s.linkIn(l.peer, nil)
		if err != nil || far == nil {
			return "", err
		}
		return far.mac, nil
	}
	away := k.givenAway()
	i := slices.IndexFunc(away, func(n heddle.NIC) bool {
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

func (k *Kernel) givenAway() []heddle.NIC {
	if k.GivenAway == nil {
		return nil
	}
	return k.GivenAway()
}

// farAtHome finds the far end on the host by its MAC address, which no container sets
// there.
func (h *homecoming) farAtHome() (*linkState, error) {
	if h.n.Was.FarMAC == "" {
		return nil, nil
	}
	f, err := look([]*site{h.host}, func(_ *site, l linkState) bool {
		return l.kind == h.n.Was.Kind && l.mac == h.n.Was.FarMAC && !l.ours()
	})
	if f == nil {
		return nil, err
	}
	return &f.link, nil
}

// farIsAway reports whether another container has the far end.
func (h *homecoming) farIsAway() bool {
	return h.n.Was.FarMAC != "" && slices.ContainsFunc(h.k.givenAway(), func(n heddle.NIC) bool {
		return n.MAC == h.n.Was.FarMAC && n.Was.Kind == h.n.Was.Kind
	})
}

// farNow finds the far end on the host, or says that another container has it. It may
// come home or leave between the two looks, so that neither alone proves that it is gone.
func (h *homecoming) farNow() (far *linkState, away bool, err error) {
	for range 3 {
		away = h.farIsAway()
		if far, err = h.farAtHome(); far != nil || away || err != nil {
			break
		}
	}
	return far, away, err
}

// unfollowed finds a NIC that no far end on the host leads to, by what its container
// can write: our mark, or its MAC address. It is gone if it is nowhere.
func (h *homecoming) unfollowed() (*found, error) {
	is := func(at *site, l linkState) bool {
		return l.kind == h.n.Was.Kind && (l.alias == h.n.Alias || at.pod && l.mac == h.n.MAC)
	}
	return h.search(is, afterAll, "")
}
