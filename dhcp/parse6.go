package dhcp

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/mdlayher/ndp"

	"github.com/heddle-network/heddle"
)

// Packet6 is what a frame of the LAN says in IPv6: one of the three.
type Packet6 struct {
	Advertisement *Advertisement
	Neighbour     *Neighbour
	Message       *Message6
}

// Advertisement is what is read of a router's advertisement (RFC 4861, 4.2). Routes (RFC 4191, 2.3) are not among it: by them
// a router could divert traffic.
type Advertisement struct {
	Router    netip.Addr
	RouterMAC heddle.MAC // who sent the frame
	// Lifetime is 0 if it is no default router. Preference is -1, 0 or 1.
	Lifetime   time.Duration
	Preference int
	// Managed: a DHCPv6 server gives addresses.
	Managed  bool
	MTU      int
	Prefixes []AdvertisedPrefix
	DNS      []netip.Addr
	Search   []string
}

// AdvertisedPrefix is what a router says of a prefix. With Autonomous hosts make addresses in it.
type AdvertisedPrefix struct {
	Prefix             netip.Prefix
	OnLink, Autonomous bool
	Valid, Preferred   time.Duration
}

// Neighbour is what is read of a message by which neighbours find each other: who has an address, or who asks for it.
type Neighbour struct {
	Sender    netip.Addr // unspecified if it is about to take the address
	SenderMAC heddle.MAC // who sent the frame
	ToOne     heddle.MAC // as of ARP
	Target    netip.Addr
	Asks      bool
}

// Parse6 reads a frame. All that comes from the LAN passes it. What neighbour discovery says must come from the link: its hop
// limit shows that no router has passed it on (RFC 4861, 6.1.2, 7.1). A fragment says nothing (RFC 6980).
func Parse6(b []byte, ours func(xid uint32, client netip.Addr) bool) (p Packet6) {
	fromMAC, toOne, ok := ends(b)
	if !ok || len(b) < etherSize+ip6Size || binary.BigEndian.Uint16(b[12:]) != etherIPv6 || b[etherSize]>>4 != 6 {
		return p
	}
	ip := b[etherSize:]
	size := int(binary.BigEndian.Uint16(ip[4:]))
	if size > len(ip)-ip6Size {
		return p
	}
	from, to, payload := netip.AddrFrom16([16]byte(ip[8:])), netip.AddrFrom16([16]byte(ip[24:])), ip[ip6Size:ip6Size+size]
	switch ip[6] {
	case protocolICMPv6:
		if ip[7] == neighbourHops && size >= 8 && payload[1] == 0 && checksum(pseudo6(from, to, protocolICMPv6, size), payload) == 0 {
			return parseNDP(payload, from, to, fromMAC, toOne)
		}
	case protocolUDP:
		// A router passes on nothing from a link-local address: so the server, or its relay, is on the LAN.
		if size < udpSize+4 || binary.BigEndian.Uint16(payload[2:]) != portClient6 || !from.IsLinkLocalUnicast() || !to.IsLinkLocalUnicast() {
			return p
		}
		if said := int(binary.BigEndian.Uint16(payload[4:])); said < udpSize+4 || said > size {
			return p
		}
		if payload = payload[udpSize:binary.BigEndian.Uint16(payload[4:])]; ours(binary.BigEndian.Uint32(payload)&0xffffff, to) {
			p.Message = parseMessage6(payload, to)
		}
	}
	return p
}

func parseNDP(payload []byte, from, to netip.Addr, fromMAC, toOne heddle.MAC) (p Packet6) {
	if payload[0] != routerAdvertisement && payload[0] != neighbourAsked && payload[0] != neighbourA {
		return p
	}
	m, err := ndp.ParseMessage(payload)
	if err != nil {
		return p
	}
	switch m := m.(type) {
	case *ndp.RouterAdvertisement: // one in a frame to a single MAC address may be of a container beside (Identity.Beside)
		if from.IsLinkLocalUnicast() && to == allNodes && toOne == "" {
			p.Advertisement = advertisement(m, from, fromMAC)
		}
	case *ndp.NeighborSolicitation:
		if !from.IsMulticast() && !m.TargetAddress.IsMulticast() {
			p.Neighbour = &Neighbour{Sender: from, SenderMAC: fromMAC, ToOne: toOne, Target: m.TargetAddress, Asks: true}
		}
	case *ndp.NeighborAdvertisement:
		if !from.IsMulticast() && !from.IsUnspecified() && !m.TargetAddress.IsMulticast() {
			p.Neighbour = &Neighbour{Sender: from, SenderMAC: fromMAC, ToOne: toOne, Target: m.TargetAddress}
		}
	}
	return p
}

func advertisement(m *ndp.RouterAdvertisement, from netip.Addr, fromMAC heddle.MAC) *Advertisement {
	a := &Advertisement{Router: from, RouterMAC: fromMAC, Lifetime: m.RouterLifetime, Managed: m.ManagedConfiguration,
		Preference: map[ndp.Preference]int{ndp.High: 1, ndp.Low: -1}[m.RouterSelectionPreference]}
	for _, o := range m.Options {
		switch o := o.(type) {
		case *ndp.MTU:
			a.MTU = int(o.MTU)
		case *ndp.PrefixInformation:
			if len(a.Prefixes) < maxList && o.Prefix.IsValid() {
				a.Prefixes = append(a.Prefixes, AdvertisedPrefix{Prefix: netip.PrefixFrom(o.Prefix, int(o.PrefixLength)), OnLink: o.OnLink,
					Autonomous: o.AutonomousAddressConfiguration, Valid: o.ValidLifetime, Preferred: o.PreferredLifetime})
			}
		case *ndp.RecursiveDNSServer:
			for _, s := range o.Servers {
				if len(a.DNS) < maxList && o.Lifetime > 0 && (isGlobal(s) || s.IsLinkLocalUnicast()) {
					a.DNS = append(a.DNS, s)
				}
			}
		case *ndp.DNSSearchList:
			for _, d := range o.DomainNames {
				if d = cleanName(d); len(a.Search) < maxList && o.Lifetime > 0 && d != "" {
					a.Search = append(a.Search, d)
				}
			}
		}
	}
	return a
}

// The unicast addresses of the Internet (RFC 4291, 2.4; RFC 3513, 4) and of sites (RFC 4193).
var (
	internet6 = netip.MustParsePrefix("2000::/3")
	unique6   = netip.MustParsePrefix("fc00::/7")
)

// isGlobal reports whether a host can have the address beyond its link.
func isGlobal(a netip.Addr) bool { return internet6.Contains(a) || unique6.Contains(a) }
