package kernel

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
)

// TestForgedMeetRedirects: what a frame is, it says itself. The protocol that the sender of a packet socket names beside it (packet(7)) has no redirect
// pass it by, and neither has a tag that says the priority alone.
func TestForgedMeetRedirects(t *testing.T) {
	r := newRoom(t)
	r.sh(redirectScript + `nft add table inet seen; nft add chain inet seen in '{ type filter hook prerouting priority -300; }'
for l in far0 into0; do for to in 'ip daddr 10.96.0.1' 'ip daddr 192.0.2.9' 'ip6 daddr fd00:96::1'; do nft add rule inet seen in iifname $l $to counter; done; done
`)
	r.apply(redirects("into0", byProgram))
	far, err := net.ParseMAC(strings.TrimSpace(r.sh("cat /sys/class/net/far0/address")))
	cell.Must(t, err)
	priority := []byte{0x81, 0, 0x60, 0}
	cell.Must(t, openNetns(t, r.host).Do(func() error {
		up, err := net.InterfaceByName("up0")
		if err != nil {
			return err
		}
		socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(socket)
		for _, to := range []string{"10.96.0.1", "192.0.2.9", "fd00:96::1"} {
			for _, tags := range [][]byte{nil, priority, bytes.Repeat(priority, 8)} {
				for _, says := range []uint16{0x88b5, unix.ETH_P_ARP, unix.ETH_P_IP, unix.ETH_P_IPV6, unix.ETH_P_8021Q} { // 0x88b5 is for experiments (IEEE 802)
					where := &unix.SockaddrLinklayer{Ifindex: up.Index, Protocol: nl.Swap16(says), Halen: 6, Addr: [8]byte(append(bytes.Clone(far), 0, 0))}
					if err := unix.Sendto(socket, forged(far, tags, netip.MustParseAddr(to)), 0, where); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}))
	out := r.sh("nft list chain inet seen in")
	for _, line := range strings.Split(out, "\n") {
		if !strings.Contains(line, "counter") {
			continue
		}
		taken, foreign := strings.Contains(line, "into0"), strings.Contains(line, "192.0.2.9")
		if none := strings.Contains(line, "packets 0 "); none == (taken != foreign) {
			t.Errorf("%s", line)
		}
	}
}

// forged is a frame with an IP header that goes to an address.
func forged(mac net.HardwareAddr, tags []byte, to netip.Addr) []byte {
	frame := append(append(bytes.Clone(mac), 0x0a, 0, 0, 0, 0, 1), tags...)
	if to.Is6() {
		frame = append(frame, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, 59, 64) // no next header
		return append(append(frame, netip.MustParseAddr("fd00::1").AsSlice()...), to.AsSlice()...)
	}
	head := append([]byte{0x45, 0, 0, 20, 0, 0, 0, 0, 64, 253, 0, 0, 192, 0, 2, 1}, to.AsSlice()...)
	sum := uint32(0)
	for i := 0; i < len(head); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(head[i:]))
	}
	binary.BigEndian.PutUint16(head[10:], ^uint16(sum+sum>>16))
	return append(append(frame, 0x08, 0x00), head...)
}
