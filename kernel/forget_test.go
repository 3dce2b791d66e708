package kernel

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
)

// established is the state of a TCP connection (linux/netfilter/nf_conntrack_tcp.h).
const established = 3

// TestForgetAddresses: all connections of an address are forgotten, and no others, whether the
// kernel filters by a few addresses or all connections are read.
func TestForgetAddresses(t *testing.T) {
	gone4, gone6 := netip.MustParseAddr("10.20.0.9"), netip.MustParseAddr("fd20::9")
	peer4, peer6 := netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::2")
	host4, other4, other6 := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("10.20.0.8"), netip.MustParseAddr("fd20::8")
	flows := []struct {
		src, dst, answers, to netip.Addr
		stays                 bool
	}{
		{gone4, peer4, peer4, gone4, false},
		{gone4, peer4, peer4, host4, false}, // masqueraded
		{peer4, gone4, gone4, peer4, false},
		{peer4, host4, gone4, peer4, false}, // at a published port
		{gone6, peer6, peer6, gone6, false},
		{peer6, gone6, gone6, peer6, false},
		{other4, peer4, peer4, host4, true},
		{peer4, host4, other4, peer4, true},
		{other6, peer6, peer6, other6, true},
	}
	for name, row := range map[string]struct {
		more    int    // further addresses
		tracked uint32 // the assumed number of tracked connections; 0: the real number
	}{"few connections": {}, "few addresses": {tracked: fewTracked + 1}, "many": {filteredDumpsAtMost + 1, fewTracked + 1}} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			var stay []string
			cell.Must(t, r.k.home.Do(func() error {
				for i, f := range flows {
					for j, proto := range []uint8{unix.IPPROTO_UDP, unix.IPPROTO_TCP} {
						c := &netlink.ConntrackFlow{FamilyType: unix.AF_INET, TimeOut: 600}
						if f.src.Is6() {
							c.FamilyType = unix.AF_INET6
						}
						there, back := uint16(1000+2*i+j), uint16(2000+2*i+j)
						c.Forward = netlink.IPTuple{SrcIP: f.src.AsSlice(), DstIP: f.dst.AsSlice(), SrcPort: there, DstPort: back, Protocol: proto}
						c.Reverse = netlink.IPTuple{SrcIP: f.answers.AsSlice(), DstIP: f.to.AsSlice(), SrcPort: back, DstPort: there, Protocol: proto}
						if proto == unix.IPPROTO_TCP {
							c.ProtoInfo = &netlink.ProtoInfoTCP{State: established}
						}
						if err := netlink.ConntrackCreate(netlink.ConntrackTable, netlink.InetFamily(c.FamilyType), c); err != nil {
							return fmt.Errorf("%+v: %w", f, err)
						}
						if f.stays {
							stay = append(stay, fmt.Sprint(there))
						}
					}
				}
				return nil
			}))
			addrs := []netip.Addr{gone4, gone6}
			for i := range row.more {
				addrs = append(addrs, netip.AddrFrom4([4]byte{10, 21, 0, byte(i)}), netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x21, 15: byte(i)}))
			}
			if row.tracked == 0 {
				cell.Must(t, r.k.ForgetAddresses(addrs))
			} else {
				cell.Must(t, r.k.home.Do(func() error {
					c, err := dial(unix.NETLINK_NETFILTER)
					if err != nil {
						return err
					}
					defer c.close()
					if n, err := c.tracked(); err != nil || int(n) != 2*len(flows) {
						return fmt.Errorf("%d connections are tracked: %w", n, err)
					}
					return c.forget(addrs, row.tracked)
				}))
			}
			var left []string
			cell.Must(t, r.k.home.Do(func() error {
				for _, family := range []netlink.InetFamily{unix.AF_INET, unix.AF_INET6} {
					all, err := netlink.ConntrackTableList(netlink.ConntrackTable, family)
					if err != nil {
						return err
					}
					for _, f := range all {
						left = append(left, fmt.Sprint(f.Forward.SrcPort))
					}
				}
				return nil
			}))
			slices.Sort(left)
			slices.Sort(stay)
			if !slices.Equal(left, stay) {
				t.Errorf("connections of ports %v are left, want %v", left, stay)
			}
		})
	}
}
