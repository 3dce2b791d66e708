package attack_test

import (
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

// scene is where the attacks happen: an attacker and two neighbours on one
// network, another container on another one.
type scene struct {
	w                         *world.World
	mode                      string
	net                       heddle.Network
	attacker, victim, witness *world.Pod
	other                     *world.Pod
	// heard counts what the host's services on the loopback were told.
	heard atomic.Int64
}

// loopPort is the port of the host's services on 127.0.0.1 and ::1.
const loopPort = 9999

func newScene(t *testing.T, setting string) *scene {
	t.Helper()
	mode, nf, _ := strings.Cut(setting, " ")
	s := &scene{w: world.New(t), mode: mode}
	if !s.w.BridgeNF(t, nf != "") {
		t.Skip("this kernel has no br_netfilter")
	}
	s.net = s.w.Network(t, "net", mode)
	s.w.Network(t, "far", mode)
	// a published port, so that route_localnet is on
	s.attacker = s.w.Pod(t, "attacker", "net", world.Publish("127.0.0.1@8080:80/tcp"))
	s.victim, s.witness = s.w.Pod(t, "victim", "net"), s.w.Pod(t, "witness", "net")
	s.other = s.w.Pod(t, "other", "far")
	s.listen(t)
	for _, a := range append(s.attacker.Addrs(), append(s.witness.Addrs(), s.net.Gateways...)...) {
		s.victim.Reaches(t, a)
	}
	return s
}

// listen runs the host's services on the loopback.
func (s *scene) listen(t *testing.T) {
	t.Helper()
	s.w.Host.Listen(t, "tcp", netip.MustParseAddrPort(fmt.Sprintf("127.0.0.1:%d", loopPort)))
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
	return func() bool {
		time.Sleep(2 * world.Quiet)
		return s.heard.Load() > before
	}
}

// hop is the MAC by which the attacker sends to a container of its network: the
// container's own on a bridge, the host's otherwise.
func (s *scene) hop(to *world.Pod) heddle.MAC {
	if s.mode == "bridge" {
		return to.Endpoint.MAC
	}
	return s.gateway()
}

// gateway is the MAC by which the attacker reaches the host.
func (s *scene) gateway() heddle.MAC {
	if s.mode == "bridge" {
		return s.net.GatewayMAC()
	}
	return s.attacker.Endpoint.ID.PortMAC()
}

// port is the host's device behind the attacker.
func (s *scene) port() string {
	if s.mode == "bridge" {
		return s.net.BridgeName(0)
	}
	return s.attacker.Port()
}

// believes watches whether the victim comes to believe that an address is at
// the attacker's.
func believes(claimed func(s *scene) netip.Addr) func(t *testing.T, s *scene) func() bool {
	return func(t *testing.T, s *scene) func() bool {
		to := claimed(s)
		s.victim.Sh(t, "ip neigh flush dev eth0")
		s.victim.Reaches(t, to)
		if to.Is4() {
			time.Sleep(1100 * time.Millisecond) // the kernel holds on to an answer for a second (LOCKTIME in net/ipv4/arp.c)
		}
		return func() bool {
			time.Sleep(world.Quiet)
			entry := s.victim.Sh(t, "ip neigh show %s dev eth0", to)
			return strings.Contains(entry, string(s.attacker.Endpoint.MAC))
		}
	}
}

func gateway4(s *scene) netip.Addr { return s.net.Gateways[0] }
func gateway6(s *scene) netip.Addr { return s.net.Gateways[1] }
func witness4(s *scene) netip.Addr { return s.witness.V4() }
func witness6(s *scene) netip.Addr { return s.witness.V6() }
