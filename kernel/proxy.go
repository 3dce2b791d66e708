package kernel

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// proxyKind are the addresses for which the host answers neighbours.
type proxyKind struct{}

func (proxyKind) make(a *attempt, s *session, want *heddle.State) error {
	return each(want.Proxies, func(x heddle.Proxy) error { return a.proxy(s, x) })
}

// proxy makes an entry. The kernel would write over one that is there (neigh_add), so somebody else's is looked for first.
func (a *attempt) proxy(s *session, x heddle.Proxy) error {
	return a.step("make", x.Key(), func() error {
		index, err := s.ifindex(x.Link)
		if err != nil {
			return err
		}
		live, err := s.proxies()
		if err != nil {
			return err
		}
		for _, l := range live {
			switch {
			case l.index != index || l.addr != x.Addr:
			case l.ours:
				return nil
			default:
				return fmt.Errorf("the host answers for %s there already, and that entry is not ours", x.Addr)
			}
		}
		err = s.rt.execute(proxyRequest(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE, index, x))
		if err == nil {
			a.recordCreated(s, x.Key(), func() error { return s.deleteProxy(x) })
		}
		return err
	})
}

func (proxyKind) compare(d *differ, want *heddle.State) error {
	live, err := d.s.proxies()
	if err != nil {
		return err
	}
	return each(want.Proxies, func(x heddle.Proxy) error {
		if !slices.Contains(live, proxyAt{d.index(x.Link), x.Addr, true}) {
			return d.missing(x)
		}
		return nil
	})
}

func (proxyKind) remove(r *removal, s *session, gone *heddle.State) {
	for _, x := range slices.Backward(gone.Proxies) {
		r.step(s, x.Key(), x.Link, func() error { return s.deleteProxy(x) })
	}
}

func (proxyKind) own(v *inventory) error {
	names, err := v.names()
	if err != nil {
		return err
	}
	live, err := v.s.proxies()
	for _, l := range live {
		if name := names[l.index]; l.ours && name != "" {
			v.found.Proxies = append(v.found.Proxies, heddle.Proxy{Link: name, Addr: l.addr})
		}
	}
	return err
}

func (s *session) deleteProxy(x heddle.Proxy) error {
	index, err := s.ifindex(x.Link)
	if err != nil {
		return err
	}
	return s.rt.execute(proxyRequest(unix.RTM_DELNEIGH, 0, index, x))
}

// proxyRequest is RTM_NEWNEIGH or RTM_DELNEIGH about an entry of ours.
func proxyRequest(kind, flags, index int, x heddle.Proxy) *nl.NetlinkRequest {
	r := request(kind, flags, &netlink.Ndmsg{Family: uint8(familyOf(x.Addr)), Index: uint32(index), Flags: netlink.NTF_PROXY})
	r.AddData(nl.NewRtAttr(netlink.NDA_DST, x.Addr.AsSlice()))
	if kind == unix.RTM_NEWNEIGH {
		r.AddData(octetAttr(netlink.NDA_PROTOCOL, heddle.RouteProtocol))
	}
	return r
}

// proxyAt is an entry with the index of its interface. ours says that it bears our mark.
type proxyAt struct {
	index int
	addr  netip.Addr
	ours  bool
}

// proxies lists the entries of both families, also others'.
func (s *session) proxies() ([]proxyAt, error) {
	return list(s.rt, func() *nl.NetlinkRequest {
		return request(unix.RTM_GETNEIGH, 0, &netlink.Ndmsg{Flags: netlink.NTF_PROXY})
	}, func(b []byte) (proxyAt, bool) {
		e, ok := decodeEntry(b)
		if !ok || !e.addr.IsValid() || b[10]&netlink.NTF_PROXY == 0 {
			return proxyAt{}, false
		}
		protocol := octet(attributes(b[sizeofNdmsg:]).get(netlink.NDA_PROTOCOL))
		return proxyAt{e.index, e.addr, protocol == heddle.RouteProtocol}, true
	})
}
