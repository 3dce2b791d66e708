package world

import (
	"net/netip"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Tracked lists the flows from one address to another that the namespace tracks.
func (n Netns) Tracked(t testing.TB, from, to netip.Addr) (all []string) {
	t.Helper()
	family := netlink.InetFamily(unix.AF_INET)
	if to.Is6() {
		family = unix.AF_INET6
	}
	err := n.Do(func() error {
		flows, err := netlink.ConntrackTableList(netlink.ConntrackTable, family)
		for _, f := range flows {
			src, _ := netip.AddrFromSlice(f.Forward.SrcIP)
			dst, _ := netip.AddrFromSlice(f.Forward.DstIP)
			if src.Unmap() == from && dst.Unmap() == to {
				all = append(all, f.String())
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ForgetFlows empties the namespace's connection tracking.
func (n Netns) ForgetFlows(t testing.TB) {
	t.Helper()
	if err := n.Do(func() error { return netlink.ConntrackTableFlush(netlink.ConntrackTable) }); err != nil {
		t.Fatal(err)
	}
}
