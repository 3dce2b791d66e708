package kernel

import (
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/net/bpf"
)

// TestAnnouncements: of all frames the filter takes those alone that may announce one of the addresses, and that the guard of a stranger's port
// lets not pass; a datagram with the same bytes at the same places is not among them, nor a fragment. What is heeded of these is an announcement.
func TestAnnouncements(t *testing.T) {
	four, six := netip.MustParseAddr("10.20.0.100"), netip.MustParseAddr("fd20::100")
	all, source := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, []byte{2, 0, 0, 0, 0, 1}
	vm, err := bpf.NewVM(announcing([]netip.Addr{netip.MustParseAddr("10.20.0.9"), six, netip.MustParseAddr("fd20::101"), four}))
	if err != nil {
		t.Fatal(err)
	}
	arp := func(operation byte, sender, target string) []byte {
		return slices.Concat(all, source, []byte{8, 6, 0, 1, 8, 0, 6, 4, 0, operation}, source, netip.MustParseAddr(sender).AsSlice(), make([]byte, 6), netip.MustParseAddr(target).AsSlice())
	}
	nd := func(next, kind, flags byte, target string) []byte {
		return slices.Concat([]byte{0x33, 0x33, 0, 0, 0, 1}, source, []byte{0x86, 0xdd, 0x60, 0, 0, 0, 0, 32, next, 255}, six.AsSlice(), netip.MustParseAddr("ff02::1").AsSlice(),
			[]byte{kind, 0, 0, 0, flags, 0, 0, 0}, netip.MustParseAddr(target).AsSlice(), []byte{2, 1}, source)
	}
	with := func(frame []byte, at int, value byte) []byte {
		frame = slices.Clone(frame)
		frame[at] = value
		return frame
	}
	good := nd(58, advertises, 0x20, "fd20::100")
	for _, c := range []struct {
		name          string
		frame         []byte
		taken, heeded bool
	}{
		{"a gratuitous request", arp(1, "10.20.0.100", "10.20.0.100"), true, true},
		{"a gratuitous reply", arp(2, "10.20.0.100", "10.20.0.7"), true, true},
		{"a question from the address", arp(1, "10.20.0.100", "10.20.0.7"), true, false},
		{"a reply to one", with(arp(2, "10.20.0.100", "10.20.0.7"), 0, 2), true, false},
		{"another's MAC address in it", with(arp(1, "10.20.0.100", "10.20.0.100"), atHardware+5, 9), true, false},
		{"a question for the address", arp(1, "10.20.0.7", "10.20.0.100"), false, false},
		{"another address", arp(1, "10.20.0.101", "10.20.0.101"), false, true},
		{"an advertisement", good, true, true},
		{"an answer", nd(58, advertises, 0x60, "fd20::100"), true, false},
		{"from beyond a router", with(good, atHops, 64), true, false},
		{"to one", with(good, atTo, 0xfd), true, false},
		{"a solicitation", nd(58, 135, 0, "fd20::100"), false, false},
		{"another target", nd(58, advertises, 0x20, "fd20::102"), false, true},
		{"a datagram", nd(17, advertises, 0x20, "fd20::100"), false, false},
		{"a fragment", nd(44, advertises, 0x20, "fd20::100"), false, false},
		{"a short advertisement", good[:70], false, false},
		{"a short ARP", arp(1, "10.20.0.100", "10.20.0.100")[:30], false, false},
		{"tagged", with(with(good, atKind, 0x81), atKind+1, 0), false, false},
	} {
		n, err := vm.Run(c.frame)
		if _, heeded := readAnnouncement(c.frame); err != nil || n > 0 != c.taken || heeded != c.heeded {
			t.Errorf("%s: taken %t, heeded %t, %v", c.name, n > 0, heeded, err)
		}
	}
}
