package attack_test

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// leaseAttacks are answers to the agent, which asks DHCP servers for its containers: from a server that
// wants more than to give an address, or from somebody who is none.
func leaseAttacks() []ownAttack {
	by := func(class, name, limit string, mount func(*testing.T, *leaseScene) bool) ownAttack {
		return ownAttack{class: class, name: name, modes: isMacvlan, limit: limit, mount: func(t *testing.T, _ string, open bool) bool {
			s := &leaseScene{w: world.New(t), open: open}
			s.server = s.w.ServeDHCP(t)
			s.w.Network(t, "lan", isMacvlan, func(n *heddle.Network) { n.Subnets = nil }, world.With("addresses=dhcp"))
			return mount(t, s)
		}}
	}
	return []ownAttack{
		by("option", "routes of a DHCP server besides the default route", "", routesOfServer),
		by("lease", "a refusal by another server than the lease's, which has seen the question to that one", "", otherServerRefuses),
		by("lease", "a refusal in the name of the lease's server, by who has seen the question", "nothing in DHCP proves who answers; a switch can (DHCP snooping)", refusesAsServer),
		by("lease", "an offer by a container beside, which knows the question", "", offerFromBeside),
		by("lease", "a confirmation by a container beside, which had the client's MAC address when a server offered to it alone", "", confirmsFromBeside),
		by("lease", "the host's own address", "", hostsAddress),
		by("lease", "an address of other people, in a subnet that is made larger", "", largerSubnet),
		by("lease", "a container beside that claims the address by ARP, again and again", "", claimedFromBeside),
		by("lease", "somebody on the LAN who claims the address by ARP, again and again", "nothing in ARP proves who has an address; a switch can (dynamic ARP inspection)", claimedFromLAN),
		by("lease", "the default route, by whoever answers first", "nothing in DHCP says who is a server; a switch can (DHCP snooping)", answersFirst),
	}
}

// leaseScene is a host with a network whose addresses the attacker's server gives.
type leaseScene struct {
	w      *world.World
	server *world.DHCPServer
	open   bool
}

// rogue is the attacker on the LAN.
var rogue = netip.MustParseAddr("192.0.2.66")

// routesOfServer succeeds if a route leads to the attacker; where it is allowed to, the server names him as
// the router.
func routesOfServer(t *testing.T, s *leaseScene) bool {
	to := rogue.As4()
	classless := append([]byte{24, 198, 51, 100}, to[:]...) // RFC 3442, and the number that Windows had for it
	classless = append(append(classless, 0), to[:]...)
	s.server.Set(func() {
		s.server.Change = func(_, a *dhcpv4.DHCPv4) bool {
			a.UpdateOption(dhcpv4.OptGeneric(dhcpv4.OptionClasslessStaticRoute, classless))
			a.UpdateOption(dhcpv4.OptGeneric(dhcpv4.GenericOptionCode(249), classless))
			a.UpdateOption(dhcpv4.OptGeneric(dhcpv4.OptionStaticRoutingTable, append([]byte{198, 51, 100, 1}, to[:]...)))
			if s.open {
				a.UpdateOption(dhcpv4.OptRouter(rogue.AsSlice()))
			}
			return true
		}
	})
	return strings.Contains(s.w.Pod(t, "victim", "lan").Sh(t, "ip route show table all"), rogue.String())
}

// otherServerRefuses answers the first renewal with a NAK; allowed to, in the name of the lease's server.
func otherServerRefuses(t *testing.T, s *leaseScene) bool {
	if s.open {
		return refusesAsServer(t, s)
	}
	return s.refuses(t, rogue, 2*time.Second)
}

// refusesAsServer answers a renewal with a NAK in the name of the lease's server.
func refusesAsServer(t *testing.T, s *leaseScene) bool {
	return s.refuses(t, world.Outside4, world.Patience)
}

// refuses has a server answer the renewal with a NAK, and nothing after it. It reports whether a
// container loses its address by that within a time that is well before T2.
func (s *leaseScene) refuses(t *testing.T, server netip.Addr, within time.Duration) bool {
	refused := make(chan struct{}, 100)
	s.server.Set(func() {
		s.server.T1, s.server.Lease = time.Second, 10*world.Patience
		s.server.Change = func(q, a *dhcpv4.DHCPv4) bool {
			if q.ClientIPAddr.IsUnspecified() {
				return len(refused) == 0
			}
			a.UpdateOption(dhcpv4.OptMessageType(dhcpv4.MessageTypeNak))
			a.UpdateOption(dhcpv4.OptServerIdentifier(server.AsSlice()))
			refused <- struct{}{}
			return true
		}
	})
	victim := s.w.Pod(t, "victim", "lan")
	world.Soon(t, "the lease is renewed", func() error {
		if len(refused) == 0 {
			return errors.New("nobody asks for more time")
		}
		return nil
	})
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if e, err := s.w.Endpoint(victim.Endpoint.ID); err == nil && len(e.Addrs) == 0 {
			return true
		}
	}
	return false
}

// offerFromBeside answers from another container on the parent; allowed to, from the LAN. The parent hears what a container sends to the
// device of another one, or to its own (macvlan_queue_xmit).
func offerFromBeside(t *testing.T, s *leaseScene) bool {
	attacker := s.beside(t)
	from, mac := attacker.Netns, attacker.Endpoint.MAC
	if s.open {
		from, mac = s.w.Outside, macOf(t, s.w.Outside, "eth0")
	}
	everybody := netip.AddrFrom4([4]byte{255, 255, 255, 255})
	s.server.Set(func() {
		s.server.Offers = []netip.Addr{netip.MustParseAddr("192.0.2.99")}
		s.server.Change = func(_, a *dhcpv4.DHCPv4) bool {
			a.UpdateOption(dhcpv4.OptServerIdentifier(rogue.AsSlice()))
			for _, to := range []heddle.MAC{"ff:ff:ff:ff:ff:ff", attacker.Endpoint.MAC} {
				frame := append([]gopacket.SerializableLayer{ether(mac, to, ip4)}, between(rogue, everybody, 67, 68, a.ToBytes())...)
				if err := from.TrySend("eth0", build(frame...)); err != nil {
					t.Error(err)
				}
			}
			return false
		}
	})
	return s.gets(t, "192.0.2.99")
}

// confirmsFromBeside is about a server that answers to the client alone (Kea). A container beside takes the MAC address that the victim had and will
// have again, reads the offer to it, confirms it with itself as the router, which the parent hears, and lets go of the address. The server's
// confirmation comes a second later. Allowed to, the attacker answers the request from the LAN.
func confirmsFromBeside(t *testing.T, s *leaseScene) bool {
	attacker := s.beside(t)
	victim := s.w.Pod(t, "victim", "lan")
	mac := victim.Endpoint.MAC
	victim.Leave(t)
	if !s.open {
		attacker.Sh(t, "ip link add link eth0 name twin type macvlan mode bridge; ip link set twin address %s up", mac)
	}
	everybody := netip.AddrFrom4([4]byte{255, 255, 255, 255})
	sends := func(from world.Netns, source heddle.MAC, server netip.Addr, a *dhcpv4.DHCPv4) {
		frame := append([]gopacket.SerializableLayer{ether(source, mac, ip4)}, between(server, everybody, 67, 68, a.ToBytes())...)
		if err := from.TrySend("eth0", build(frame...)); err != nil {
			t.Error(err)
		}
	}
	onLAN, requests := macOf(t, s.w.Outside, "eth0"), 0
	forged := make(chan struct{})
	s.server.Set(func() {
		s.server.Change = func(q, a *dhcpv4.DHCPv4) bool {
			if q.MessageType() == dhcpv4.MessageTypeRequest {
				if requests++; requests == 1 && !s.open {
					return false
				}
				if s.open {
					a.UpdateOption(dhcpv4.OptRouter(rogue.AsSlice()))
				}
				sends(s.w.Outside, onLAN, world.Outside4, a)
				return false
			}
			sends(s.w.Outside, onLAN, world.Outside4, a)
			if requests > 0 || s.open {
				return false
			}
			answer, _ := dhcpv4.FromBytes(a.ToBytes())
			go func() {
				defer close(forged)
				answer.UpdateOption(dhcpv4.OptMessageType(dhcpv4.MessageTypeAck))
				answer.UpdateOption(dhcpv4.OptRouter(rogue.AsSlice()))
				for range 20 { // some before the request has left, some after it
					sends(attacker.Netns, attacker.Endpoint.MAC, world.Outside4, answer)
					time.Sleep(5 * time.Millisecond)
				}
				attacker.Sh(t, "ip link del twin")
			}()
			return false
		}
	})
	if !s.open {
		t.Cleanup(func() { <-forged })
	}
	again := s.w.PodIn(t, victim.Netns, "lan")
	if again.Endpoint.MAC != mac {
		t.Errorf("the victim's MAC address was %s, is %s", mac, again.Endpoint.MAC)
	}
	return strings.Contains(again.Sh(t, "ip route show default"), rogue.String())
}

// gets reports whether a container that is attached gets the address.
func (s *leaseScene) gets(t *testing.T, addr string) bool {
	made, err := s.w.Attach(t.Context(), s.w.Request(world.NewNetns(t, "victim"), "lan"))
	if err != nil && heddle.NoLease.In(err) == nil {
		t.Error(err)
	}
	return err == nil && made.Endpoint.Addrs[0].Addr().String() == addr
}

// hostsAddress gives a container the host's address; allowed to, one that is free.
func hostsAddress(t *testing.T, s *leaseScene) bool {
	want := world.Host4
	if s.open {
		want = netip.MustParseAddr("192.0.2.60")
	}
	s.server.Set(func() { s.server.Offers = []netip.Addr{want, want, want} })
	return s.gets(t, want.String())
}

// largerSubnet gives a container an address outside the host's subnet, and succeeds if the host then sends
// there by the container's LAN what was somebody else's.
func largerSubnet(t *testing.T, s *leaseScene) bool {
	want := netip.MustParseAddr("192.0.99.9")
	if s.open {
		want = netip.MustParseAddr("192.0.2.60")
	}
	s.server.Set(func() {
		s.server.Offers = []netip.Addr{want}
		s.server.Change = func(_, a *dhcpv4.DHCPv4) bool {
			a.UpdateOption(dhcpv4.OptSubnetMask(net.CIDRMask(16, 32)))
			return true
		}
	})
	if !s.gets(t, want.String()) {
		t.Fatal("the address is not given out")
	}
	return strings.Contains(s.w.Host.Sh(t, "ip route get %s", want), " dev "+heddle.PrefixShim)
}

// answersFirst names the attacker as the router.
func answersFirst(t *testing.T, s *leaseScene) bool {
	s.server.Set(func() { s.server.ID = rogue })
	return strings.Contains(s.w.Pod(t, "victim", "lan").Sh(t, "ip route show default"), rogue.String())
}

// beside is a container on the same parent, with an address of another network's.
func (s *leaseScene) beside(t *testing.T) *world.Pod {
	s.w.Network(t, "beside", isMacvlan, func(n *heddle.Network) {
		n.Subnets, n.Ranges = nil, []netip.Prefix{netip.MustParsePrefix("192.0.2.200/29"), netip.MustParsePrefix("2001:db8::1:0/112")}
	})
	return s.w.Pod(t, "attacker", "beside")
}

// claimedFromBeside claims the victim's address from another container on the parent; allowed to, from the LAN.
func claimedFromBeside(t *testing.T, s *leaseScene) bool {
	attacker := s.beside(t)
	if s.open {
		return claimedFromLAN(t, s)
	}
	return s.claimed(t, attacker.Netns, attacker.Endpoint.MAC, "ff:ff:ff:ff:ff:ff", attacker.Endpoint.MAC)
}

func claimedFromLAN(t *testing.T, s *leaseScene) bool {
	return s.claimed(t, s.w.Outside, macOf(t, s.w.Outside, "eth0"), "ff:ff:ff:ff:ff:ff")
}

// claimed reports whether a container loses its address to somebody who says by ARP that he has it, to those MAC addresses.
func (s *leaseScene) claimed(t *testing.T, from world.Netns, mac heddle.MAC, to ...heddle.MAC) bool {
	s.server.Set(func() { s.server.T1, s.server.Lease = world.Patience, 10*world.Patience })
	victim := s.w.Pod(t, "victim", "lan")
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, one := range to {
			from.Send(t, "eth0", arp(ether(mac, one, layers.EthernetTypeARP), request, mac, victim.V4(), victim.V4()))
		}
		if e, err := s.w.Endpoint(victim.Endpoint.ID); err == nil && (len(e.Addrs) == 0 || e.Addrs[0].Addr() != victim.V4()) {
			return true
		}
	}
	return false
}
