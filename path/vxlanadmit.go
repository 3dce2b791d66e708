package path

import (
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// vxlanSources are the ports that tunnels send from.
var vxlanSources = fmt.Sprintf("%d-%d", heddle.TunnelSourceLow, heddle.TunnelSourceEnd-1)

// vxlanMark is the bit of a packet's mark that says that it goes into a tunnel of
// ours. It is taken off when the packet comes out in VXLAN, before it leaves the host.
const vxlanMark = 0x40000000

// admission guards the tunnels, which have no authentication (RFC 7348, section
// 7): in comes what a known peer sends from its own blocks under the cluster's
// VNI, before the kernel's VXLAN takes it from whoever sends; other VNIs are
// others' affair. Out goes what the networks that span hosts send; to the peers'
// own tunnels containers send nothing, neither as themselves nor masqueraded.
func (v VXLAN) admission(f *heddle.Fabric) firewall.Admission {
	port, vni := fmt.Sprintf("udp dport %d", f.Port), fmt.Sprintf("@th,96,24 %#x", f.VNI)
	ours := fmt.Sprintf("meta mark & %#x == %#[1]x %s", vxlanMark, vni)
	unmark := fmt.Sprintf("meta mark set meta mark & %#x", ^uint32(vxlanMark))
	return firewall.Admission{
		Port:    f.Port,
		Landing: v.landing(f),
		// Tunnels' own packets are not tracked: a published port cannot take them,
		// and a flow inside costs no second entry.
		Arriving: []string{
			vni + " ip saddr @peers4 notrack accept",
			vni + " ip6 saddr @peers6 notrack accept"},
		// What leaves for a tunnel has gone through one of our devices, which a process
		// cannot say of its own packets. Of a datagram that the kernel will cut up
		// (UDP_SEGMENT) only the first header is seen here, but the ports are all alike.
		Leaving: []string{
			ours + " ip daddr @peers4 " + unmark + " notrack accept",
			ours + " ip6 daddr @peers6 " + unmark + " notrack accept",
			vni + " " + firewall.Drop("tunnel"),
			"udp sport " + vxlanSources + " " + firewall.Drop("tunnel")},
		Entering: []string{fmt.Sprintf("oifgroup %#x meta mark set meta mark | %#x", f.TunnelGroup(), vxlanMark)},
		Passing: []string{
			// nor do containers of other engines on this host; but it may be the router
			// between two peers
			port + " ip saddr @peers4 fib saddr . iif oif exists return",
			port + " ip6 saddr @peers6 fib saddr . iif oif exists return",
			port + " ip daddr @peers4 " + firewall.Drop("tunnel"),
			port + " ip6 daddr @peers6 " + firewall.Drop("tunnel"),
			// a peer has other addresses, too
			port + " " + vni + " " + firewall.Drop("tunnel"),
			port + " udp sport " + vxlanSources + " " + firewall.Drop("tunnel")},
		Foreign: v.ports(f),
	}
}

// landing admits by the outer source and the inner one, which are together in
// the sets: a block first, as most are. Of a packet that is cut short no comparison
// is true, and it meets the drop at the end.
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
	// A peer's packets come from where its own go: a container of another engine on
	// this host can write a peer's address, but not come by the underlay. One of mode
	// ipvlan comes by the underlay's NIC, with that NIC's own MAC address.
	in := []string{"iifname . ether saddr @beside " + firewall.Drop("tunnel"),
		vni + "fib saddr . iif oif missing " + firewall.Drop("spoofed-peer"),
		// Nor is a peer's tunnel a user of that host, who may not bind such ports.
		vni + "ip saddr @privileged4 udp sport != " + vxlanSources + " " + firewall.Drop("spoofed-peer"),
		vni + "ip6 saddr @privileged6 udp sport != " + vxlanSources + " " + firewall.Drop("spoofed-peer")}
	in = append(append(in, admitted("origins", vni)...), fmt.Sprintf("@th,96,24 != %#x return", f.VNI))
	in = append(in, admitted("strays", "")...)
	return append(in,
		"ip saddr != @peers4 "+firewall.Drop("unknown-peer"),
		"ip6 saddr != @peers6 "+firewall.Drop("unknown-peer"),
		firewall.Drop("spoofed-inner"))
}

// ports are those of VXLAN, GENEVE, and VXLAN as Linux first had it.
func (v VXLAN) ports(f *heddle.Fabric) []uint16 {
	ports := []uint16{v.Port(), 6081, 8472}
	if f.Port != v.Port() {
		ports = append(ports, f.Port)
	}
	return ports
}
