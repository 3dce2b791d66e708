package kernel

import (
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// localAddress is an IPv6 address that was made a moment ago.
type localAddress struct {
	s    *session
	addr netip.Addr
	// index is the index of the interface. It is set for a link-local address, which several
	// interfaces can have.
	index int
}

func (a *attempt) made6(s *session, x heddle.Address) {
	if ip := x.Prefix.Addr(); ip.Is6() && !ip.IsLinkLocalUnicast() {
		a.local = append(a.local, localAddress{s: s, addr: ip})
	}
}

// awaitLocal waits until the kernel accepts packets to the new IPv6 addresses. The kernel adds the
// local route of an address in a workqueue (addrconf_dad_work in net/ipv6/addrconf.c), also for an
// address that skips duplicate address detection. A packet that comes sooner is dropped, and an
// endpoint that is reported as made must not lose its first packet.
func (a *attempt) awaitLocal() error {
	for _, l := range a.local {
		l.await(&a.settling)
	}
	return nil
}

func (l localAddress) await(s *settling) {
	for taken, err := l.taken(); !taken && err == nil && !s.over(); taken, err = l.taken() {
		rest()
	}
}

// rest sleeps for a hundred microseconds. time.Sleep would take a millisecond at least if the
// process is otherwise idle, because the runtime's poller counts in milliseconds.
func rest() { unix.Nanosleep(&unix.Timespec{Nsec: 100_000}, nil) }

// taken reports whether the kernel would accept a packet to the address.
func (l localAddress) taken() (bool, error) { return l.s.rt.isLocal(l.addr, l.index) }

// isLocal reports whether the kernel would accept a packet to the address as the host's own. With an
// index other than 0 the packet comes in by that interface.
func (c *conn) isLocal(addr netip.Addr, index int) (local bool, err error) {
	// Asked for the route that fits (RTM_F_FIB_MATCH), the kernel does not look for a source among all
	// addresses of the namespace (ip6_route_get_saddr).
	header := unix.RtMsg{Family: uint8(familyOf(addr)), Dst_len: uint8(addr.BitLen()), Flags: unix.RTM_F_FIB_MATCH}
	r := request(unix.RTM_GETROUTE, 0, &nl.RtMsg{RtMsg: header})
	r.AddData(nl.NewRtAttr(unix.RTA_DST, addr.AsSlice()))
	if index != 0 {
		r.AddData(numberAttr(unix.RTA_OIF, uint32(index)))
	}
	err = c.get(r, func(_ uint16, payload []byte) {
		local = len(payload) >= unix.SizeofRtMsg && nl.DeserializeRtMsg(payload).Type == unix.RTN_LOCAL
	})
	return local, err
}
