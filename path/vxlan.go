package path

import (
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

// VXLAN is the path through VXLAN devices (RFC 7348), one for each IP version of the underlay. A
// device has entries for all its peers and sends no queries.
type VXLAN struct{}

func (VXLAN) Name() string  { return "vxlan" }
func (VXLAN) Title() string { return "VXLAN" }
func (VXLAN) Kind() string  { return "vxlan" }

// Port is the port that IANA has assigned (RFC 7348, section 5).
func (VXLAN) Port() uint16 { return 4789 }

// Overhead is the outer IP header (20 or 40), UDP 8, VXLAN 8, and inner Ethernet 14.
func (VXLAN) Overhead(over heddle.Family) int { return over.Header() + 8 + 8 + 14 }

func (VXLAN) Device(f *heddle.Fabric, over heddle.Family) string { return f.TunnelName(over) }

// Host plans the devices and the chains in front of them: a peer may send from its own blocks,
// others may send nothing.
func (v VXLAN) Host(h heddle.HostFacts) heddle.State {
	f := h.Fabric
	a := v.admission(f)
	s := heddle.State{Firewall: firewall.PathChains(f, a), Elements: firewall.PathElements(f, a)}
	for _, over := range heddle.Families() {
		if local, used := f.Self.UnderlayFor(over); used {
			v.device(f, local, &s)
		}
	}
	return s
}

func (v VXLAN) device(f *heddle.Fabric, local netip.Addr, s *heddle.State) {
	over := heddle.FamilyOf(local)
	name := v.Device(f, over)
	s.Links = append(s.Links, heddle.Link{Name: name, Kind: v.Kind(), MTU: max(heddle.IPv6.LeastMTU(), f.Self.MTU-v.Overhead(over)), MAC: f.Self.TunnelMAC(),
		Group: f.TunnelGroup(), Alias: f.TunnelAlias(), NoAutoAddress: true,
		Tunnel: &heddle.Tunnel{VNI: f.VNI, Local: local, Port: f.Port, SoftChecksums: f.SoftChecksums}})
	s.Sysctls = append(s.Sysctls,
		heddle.Sysctl{Name: "net/ipv4/conf/" + name + "/rp_filter", Value: "2"},
		heddle.Sysctl{Name: "net/ipv6/conf/" + name + "/disable_ipv6", Value: "0"},
		heddle.Sysctl{Name: "net/ipv6/conf/" + name + "/accept_ra", Value: "0"})
	s.Addresses = append(s.Addresses, heddle.Address{Link: name, Prefix: netip.PrefixFrom(f.Self.TunnelMAC().LinkLocal(), 64)})
}

// Peer plans a peer's forwarding entry and neighbours, and the sources it may send from: its
// blocks, its single addresses in others' blocks, and its tunnel's own address.
func (v VXLAN) Peer(f *heddle.Fabric, p heddle.Host, over heddle.Family) (s heddle.State) {
	name, outer := v.Device(f, over), outer(p, over)
	s.Forwards = append(s.Forwards, heddle.Forward{Link: name, MAC: p.TunnelMAC(), Dst: outer})
	if over == heddle.IPv4 {
		s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: name, Addr: outer, MAC: p.TunnelMAC()})
	}
	s.Neighbours = append(s.Neighbours, heddle.Neighbour{Link: name, Addr: p.TunnelMAC().LinkLocal(), MAC: p.TunnelMAC()})
	s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "peers" + over.Digit(), Match: []string{outer.String()}})
	if p.PrivilegedPorts {
		s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: "privileged" + over.Digit(), Match: []string{outer.String()}})
	}
	s.Elements = append(s.Elements, firewall.PeerElements(p)...)
	admit := func(set string, from netip.Prefix, text string) {
		set += over.Digit() + heddle.FamilyOf(from.Addr()).Digit()
		s.Elements = append(s.Elements, heddle.Element{Family: "inet", Set: set, Match: []string{outer.String(), text}})
	}
	for _, b := range f.Blocks {
		if b.Host == p.ID {
			admit("origins", b.Prefix, b.Prefix.String())
		}
	}
	strays := []netip.Addr{p.TunnelMAC().LinkLocal()}
	for _, pin := range f.Pins {
		if pin.Host == p.ID {
			strays = append(strays, pin.Addr)
		}
	}
	for _, a := range strays {
		admit("strays", heddle.Single(a), a.String())
	}
	return s
}

// Hop is the peer's underlay address, or the link-local address of its device.
func (VXLAN) Hop(p heddle.Host, over, to heddle.Family) netip.Addr {
	if over == heddle.IPv4 && to == heddle.IPv4 {
		return outer(p, over)
	}
	return p.TunnelMAC().LinkLocal()
}

// Probe is the device to the peer, with the link-local addresses of both ends.
func (v VXLAN) Probe(f *heddle.Fabric, p heddle.Host, over heddle.Family) (Probe, bool) {
	return Probe{Device: v.Device(f, over), Self: f.Self.TunnelMAC().LinkLocal(), Peer: p.TunnelMAC().LinkLocal()}, true
}

// Fast plans the programs on the underlay's interfaces, and the entries of the peers for these and
// the endpoints' programs.
func (v VXLAN) Fast(h heddle.HostFacts) (s heddle.State) {
	f := h.Fabric
	wire := heddle.Wire{VNI: f.VNI, Port: f.Port, MAC: f.Self.TunnelMAC()}
	var links []string
	for _, over := range heddle.Families() {
		local, link, ok := underlay(h, over)
		if !ok {
			continue
		}
		if over == heddle.IPv4 {
			wire.Local = local
		} else {
			wire.Local6 = local
		}
		if !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	for _, link := range links {
		s.Programs = append(s.Programs, heddle.Program{Link: link, Wire: &wire})
	}
	for _, p := range f.Peers {
		if over, ok := heddle.Path(f.Self, p); ok && v.Carries(h, p, over) {
			local, link, _ := underlay(h, over)
			s.Remotes = append(s.Remotes, heddle.Remote{Addr: outer(p, over), Local: local, Link: link, VNI: f.VNI, Port: f.Port,
				MAC: p.TunnelMAC(), OwnMAC: f.Self.TunnelMAC(), MTU: MTU(f, p, over, heddle.IPv6)})
		}
	}
	return s
}

// Carries reports whether the fast path reaches a peer. It does without fragments on the underlay,
// with a NIC that completes checksums in tunnels, which the programs leave to it, and without
// IPsec, which the programs would bypass.
func (VXLAN) Carries(h heddle.HostFacts, p heddle.Host, over heddle.Family) bool {
	_, _, here := underlay(h, over)
	return here && !h.Fabric.SoftChecksums && !h.Secures(p) && Room(h.Fabric, p, over) >= heddle.IPv6.LeastMTU()
}
