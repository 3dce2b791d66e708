package path

import (
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// vxlanSources are the ports that tunnels send from.
var vxlanSources = fmt.Sprintf("%d-%d", heddle.TunnelSourceLow, heddle.TunnelSourceEnd-1)

// vxlanMark is the bit of a packet's mark which says that the packet goes into a tunnel of ours. It
// is cleared when the packet comes out as VXLAN, before it leaves the host.
const vxlanMark = 0x40000000

// admission guards the tunnels, which have no authentication (RFC 7348, section 7). The host
// accepts what a known peer sends from its own blocks under the cluster's VNI. The check comes
// before the kernel's VXLAN, which accepts packets from any sender. Other VNIs are not ours, and
// are not checked. Only the networks that span hosts may send through the tunnels. Containers may
// not send to the peers' tunnel ports, neither with their own address nor masqueraded.
func (v VXLAN) admission(f *heddle.Fabric) firewall.Admission {
	port, vni := fmt.Sprintf("udp dport %d", f.Port), fmt.Sprintf("@th,96,24 %#x", f.VNI)
	ours := fmt.Sprintf("meta mark & %#x == %#[1]x %s", vxlanMark, vni)
	unmark := fmt.Sprintf("meta mark set meta mark & %#x", ^uint32(vxlanMark))
	return firewall.Admission{
		Port:    f.Port,
		Landing: v.landing(f),
		// The packets of tunnels are not tracked: a published port cannot match them, and a flow
		// inside needs no second entry.
		Arriving: []string{
			vni + " ip saddr @peers4 notrack accept",
			vni + " ip6 saddr @peers6 notrack accept"},
		// A packet that leaves for a tunnel has gone through one of our devices; a process cannot
		// give its own packets that property. Only the first header of a datagram that the kernel
		// will segment (UDP_SEGMENT) is seen here, but the ports of all segments are the same.
		Leaving: []string{
			ours + " ip daddr @peers4 " + unmark + " notrack accept",
			ours + " ip6 daddr @peers6 " + unmark + " notrack accept",
			vni + " " + firewall.Drop("tunnel"),
			"udp sport " + vxlanSources + " " + firewall.Drop("tunnel")},
		Entering: []string{fmt.Sprintf("oifgroup %#x meta mark set meta mark | %#x", f.TunnelGroup(), vxlanMark)},
		Passing: []string{
			// containers of other engines on this host may not send, either; but the host may be
			// the router between two peers
			port + " ip saddr @peers4 fib saddr . iif oif exists return",
			port + " ip6 saddr @peers6 fib saddr . iif oif exists return",
			port + " ip daddr @peers4 " + firewall.Drop("tunnel"),
			port + " ip6 daddr @peers6 " + firewall.Drop("tunnel"),
			// a peer also has other addresses
			port + " " + vni + " " + firewall.Drop("tunnel"),
			port + " udp sport " + vxlanSources + " " + firewall.Drop("tunnel")},
		Foreign: v.ports(f),
	}
}

// landing accepts packets by their outer and inner source, which the sets hold together. It looks
// for a block first, since most packets match one. No comparison matches a packet that is cut
// short, so it is dropped at the end.
func (VXLAN) landing(f *heddle.Fabric) []string {
	vni := fmt.Sprintf("@th,96,24 %#x ", f.VNI)
	admitted := func(set, vni string) []string {
		return []string{
			vni + "@th,224,16 0x0800 ip saddr . @th,336,32 @" + set + "44 accept",
			vni + "@th,224,16 0x86dd ip saddr . @th,304,128 @" + set + "46 accept",
			vni + "@th,224,16 0x0800 ip6 saddr . @th,336,32 @" + set + "64 accept",
			vni + "@th,224,16 0x86dd ip6 saddr . @th,304,128 @" + set + "66 accept",
		}
	}
	// A peer's packets arrive on the interface by which packets to the peer leave. A container of
	// another engine on this host can write a peer's address, but its packets do not arrive on the
	// underlay. Those of a container of mode ipvlan do, with the MAC address of the underlay's NIC
	// itself.
	in := []string{"iifname . ether saddr @beside " + firewall.Drop("tunnel"),
		vni + "fib saddr . iif oif missing " + firewall.Drop("spoofed-peer"),
		// This also rejects users of the peer host: they may not bind privileged ports.
		vni + "ip saddr @privileged4 udp sport != " + vxlanSources + " " + firewall.Drop("spoofed-peer"),
		vni + "ip6 saddr @privileged6 udp sport != " + vxlanSources + " " + firewall.Drop("spoofed-peer")}
	in = append(append(in, admitted("origins", vni)...), fmt.Sprintf("@th,96,24 != %#x return", f.VNI))
	in = append(in, admitted("strays", "")...)
	return append(in,
		"ip saddr != @peers4 "+firewall.Drop("unknown-peer"),
		"ip6 saddr != @peers6 "+firewall.Drop("unknown-peer"),
		firewall.Drop("spoofed-inner"))
}

// ports are those of VXLAN, of GENEVE, and of VXLAN at the port that Linux used first.
func (v VXLAN) ports(f *heddle.Fabric) []uint16 {
	ports := []uint16{v.Port(), 6081, 8472}
	if f.Port != v.Port() {
		ports = append(ports, f.Port)
	}
	return ports
}
