package lab

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/heddle-network/heddle/frames"
	"github.com/vishvananda/netlink"
)

// A machine's wires end in the namespace of its emulator. A bridge that forgets addresses at
// once, like a hub, joins each to the TAP of a NIC. So wires and their faults are the same for
// both kinds of hosts.
//
//	switch: host1 ══ eth0 ─ hub0 ─ tap0 ── virtio-net ── eth0 of the guest

func tapName(nic int) string { return fmt.Sprintf("tap%d", nic) }

func hubName(nic int) string { return fmt.Sprintf("hub%d", nic) }

// plugMachine joins the host's ends of the wires to TAPs, and makes the TAP of the control
// channel.
func (s *namespace) plugMachine(nics, number int) error {
	for i := range nics {
		if err := s.plugTAP(i, number); err != nil {
			return fmt.Errorf("join %s to %s: %w", NICName(i), tapName(i), err)
		}
	}
	if err := s.makeTAP(controlLink); err != nil {
		return err
	}
	if err := s.raise(controlLink, []netip.Prefix{netip.MustParsePrefix(outerAddr)}); err != nil {
		return err
	}
	link, err := s.LinkByName(controlLink)
	if err != nil {
		return err
	}
	// The entry is permanent: a request must not wait for neighbour discovery to try again
	// after the guest has come up.
	guest := netip.MustParsePrefix(guestAddr).Addr()
	return s.NeighSet(&netlink.Neigh{LinkIndex: link.Attrs().Index, State: netlink.NUD_PERMANENT, IP: guest.AsSlice(), HardwareAddr: controlMAC(number)})
}

func (s *namespace) plugTAP(nic, number int) error {
	if err := s.makeTAP(tapName(nic)); err != nil {
		return err
	}
	forget, noSnooping := uint32(0), false
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.HardwareAddr = hubName(nic), outerMAC(number, nic)
	if err := s.LinkAdd(&netlink.Bridge{LinkAttrs: attrs, AgeingTime: &forget, MulticastSnooping: &noSnooping}); err != nil {
		return err
	}
	// Only the guest may send on the wire.
	if err := s.setMuted(hubName(nic), true); err != nil {
		return err
	}
	for _, name := range []string{NICName(nic), tapName(nic)} {
		link, err := s.LinkByName(name)
		if err != nil {
			return err
		}
		// The guest's NIC takes over the address of the wire's end.
		if err := s.LinkSetHardwareAddr(link, outerMAC(number, nic)); err != nil {
			return err
		}
		if err := s.join(link, hubName(nic)); err != nil {
			return err
		}
	}
	if err := s.setMTU(tapName(nic), maxTAP); err != nil {
		return err
	}
	return s.raise(hubName(nic), nil)
}

// maxTAP is the largest MTU of a TAP (tun.c). The wire decides what passes.
const maxTAP = maxMTU - 14

// outerMAC returns a MAC that no guest has: one more bit of the first byte is set.
func outerMAC(number, nic int) net.HardwareAddr {
	mac := macOf(number, 2*nic)
	mac[0] |= 4
	return mac
}

// makeTAP makes a TAP that exists without a program that holds it.
func (s *namespace) makeTAP(name string) error {
	return s.within(func() error {
		device, err := frames.NewTAP(name)
		if err != nil {
			return err
		}
		defer device.Close()
		return frames.KeepTAP(device)
	})
}
