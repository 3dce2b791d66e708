package attack_test

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/world"
)

// scene is where the attacks happen: an attacker and neighbours on one network,
// and containers on others.
type scene struct {
	eye
	w    *world.World
	mode string
	// nf: bridged frames pass the IP firewall too.
	nf bool
	// tap: the attackers are virtual machines, whose ports are TAP devices.
	tap            bool
	net, far, shut heddle.Network
	// shim is the MAC of the host's own device beside macvlan containers, or of the
	// parent of ipvlan ones.
	shim                      heddle.MAC
	attacker, victim, witness *world.Pod
	// rogue is another attacker, who changes his end of the link.
	rogue *world.Pod
	// other is on another network, inmate on an internal one, lone and prey on
	// one without IPv6.
	other, inmate, lone, prey *world.Pod
	// former is the address of one who has left.
	former netip.Addr
	// open: the guard is away.
	open bool
	// heard counts what the host's services on the loopback were told.
	heard atomic.Int64
}

// loopPort is the port of the host's services on 127.0.0.1 and ::1, and on the
// gateways' addresses.
const loopPort = 9999

func newScene(t *testing.T, setting string) *scene {
	t.Helper()
	switch setting {
	case isMacvlan, isIPvlan:
		return newLAN(t, setting)
	case isDirect:
		return newWire(t)
	}
	mode, variant, _ := strings.Cut(setting, " ")
	s := &scene{w: world.New(t), mode: mode, nf: variant == "nf", tap: variant == "tap"}
	// connections of the scene before, which was another host with the same addresses
	s.w.Host.Sh(t, "conntrack -F")
	if !s.w.BridgeNF(t, s.nf) {
		lacks(t, "br_netfilter")
	}
	s.net, s.far = s.w.Network(t, "net", mode), s.w.Network(t, "far", mode)
	s.w.Network(t, "four", mode, world.OnlyV4)
	s.shut = s.w.Network(t, "shut", mode, world.Internal)
	s.w.RouteToPods(t, s.net)
	s.w.RouteToPods(t, s.far)
	// ports published on the loopback, so that route_localnet is on, and on all
	// addresses
	attacker := s.w.Pod
	if s.tap {
		attacker = s.w.Machine
	}
	s.attacker = attacker(t, "attacker", "net", world.Publish("127.0.0.1@8080:80/tcp"), world.Publish("8081:80/tcp"))
	s.victim, s.witness = s.w.Pod(t, "victim", "net"), s.w.Pod(t, "witness", "net")
	s.rogue, s.other = s.w.Pod(t, "rogue", "net"), s.w.Pod(t, "other", "far")
	s.inmate, s.lone, s.prey = attacker(t, "inmate", "shut"), attacker(t, "lone", "four"), s.w.Pod(t, "prey", "four")
	left := s.w.Pod(t, "former", "net")
	s.former = left.V4()
	left.Leave(t)
	s.listen(t)
	for _, a := range append(s.attacker.Addrs(), append(s.witness.Addrs(), s.net.Gateways...)...) {
		s.victim.Reaches(t, a)
	}
	return s
}

// ordinary keeps two neighbours talking; what it returns ends that, and fails
// the test if they were disturbed.
func (s *scene) ordinary(t *testing.T) func() {
	t.Helper()
	one, two := s.w.Pod(t, "one", "net"), s.w.Pod(t, "two", "net")
	one.Serve(t, 7000, one.Addrs()...)
	one.Listen(t, "tcp", netip.AddrPortFrom(one.V4(), 7001))
	stream, err := two.Dial("tcp", netip.AddrPort{}, netip.AddrPortFrom(one.V4(), 7001), world.Patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stream.Close() })
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			err := two.TryGets("one", 7000, one.Addrs()...)
			if err != nil { // a machine that stood still answers the second time; a neighbour who is cut off does not
				err = two.TryGets("one", 7000, one.Addrs()...)
			}
			if err != nil {
				t.Error(err)
			}
			select {
			case <-end:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(end)
		<-done
		stream.SetDeadline(time.Now().Add(world.Patience))
		fmt.Fprintln(stream, "still here")
		said := bufio.NewReader(stream)
		for line := ""; line != "still here\n"; {
			if line, err = said.ReadString('\n'); err != nil {
				t.Fatalf("a neighbour's connection did not live through the attacks: %v", err)
			}
		}
	}
}

// listen runs the host's services on the loopback.
func (s *scene) listen(t *testing.T) {
	t.Helper()
	at := []netip.Addr{loopback4}
	at = append(at, s.far.Gateways...)
	if !s.onLAN() {
		at = append(at, s.net.Gateways...)
	}
	for _, a := range at {
		s.w.Host.Listen(t, "tcp", netip.AddrPortFrom(a, loopPort))
	}
	s.w.Outside.Listen(t, "tcp", netip.AddrPortFrom(world.Outside4, 8081))
	s.attacker.Serve(t, 80, s.attacker.Addrs()...)
	for _, a := range []string{"127.0.0.1", "[::1]"} {
		c, err := net.ListenPacket("udp", fmt.Sprintf("%s:%d", a, loopPort))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		go func() {
			for b := make([]byte, 2048); ; {
				if _, _, err := c.ReadFrom(b); err != nil {
					return
				}
				s.heard.Add(1)
			}
		}()
	}
}

// atLoopback watches for what the services hear.
func atLoopback(_ *testing.T, s *scene) func() bool {
	before := s.heard.Load()
	return func() bool { return s.sees(func() bool { return s.heard.Load() > before }) }
}

// routed reports whether the host routes what containers of one network say to each
// other.
func (s *scene) routed() bool { return contains(isRouted, s.mode) }

// onLAN reports whether the containers are on the host's LAN, whose gateways are not
// the host.
func (s *scene) onLAN() bool { return s.mode == isMacvlan || s.mode == isIPvlan }

// hop is the MAC by which the attacker sends to a container of its network: the
// container's own on a bridge or a LAN, the host's otherwise.
func (s *scene) hop(to *world.Pod) heddle.MAC {
	if !s.routed() {
		return to.Endpoint.MAC
	}
	return s.gateway()
}

// gateway is the MAC by which the attacker reaches the host.
func (s *scene) gateway() heddle.MAC {
	switch s.mode {
	case "bridge":
		return s.net.GatewayMAC()
	case isMacvlan, isIPvlan:
		return s.shim
	}
	return s.attacker.Endpoint.ID.PortMAC()
}

// port is the host's device behind the attacker.
func (s *scene) port() string {
	switch s.mode {
	case "bridge":
		return s.net.BridgeName(0)
	case isMacvlan:
		return heddle.Shim(heddle.LinkFact{Name: s.net.Parent}).Name
	case isIPvlan:
		return s.net.Parent
	}
	return s.attacker.Port()
}

// believes watches whether the victim comes to believe that an address is at
// the attacker's.
func believes(claimed func(s *scene) netip.Addr) func(t *testing.T, s *scene) func() bool {
	return func(t *testing.T, s *scene) func() bool {
		to := claimed(s)
		// the kernel would hold on to an answer for a second (LOCKTIME in net/ipv4/arp.c)
		s.victim.Sh(t, "sysctl -qw net.ipv4.neigh.eth0.locktime=0; ip neigh flush dev eth0")
		s.victim.Reaches(t, to)
		return func() bool {
			return s.sees(func() bool {
				entry := s.victim.Sh(t, "ip neigh show %s dev eth0", to)
				return strings.Contains(entry, string(s.attacker.Endpoint.MAC))
			})
		}
	}
}

func gateway4(s *scene) netip.Addr { return s.net.Gateways[0] }
func gateway6(s *scene) netip.Addr { return s.net.Gateways[1] }
func witness4(s *scene) netip.Addr { return s.witness.V4() }
func witness6(s *scene) netip.Addr { return s.witness.V6() }
