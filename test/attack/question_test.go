package attack_test

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/miekg/dns"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/test/world"
)

// questionAttacks are on the resolver's address beside containers on a LAN.
func questionAttacks() []ownAttack {
	const lan = isMacvlan + " " + isIPvlan
	all := []ownAttack{
		{name: "the LAN calls the resolver beside containers", modes: lan, mount: func(t *testing.T, mode string, open bool) bool {
			s := newQuestions(t, mode, open)
			return s.calls(t, s.w.Outside, "eth0", s.beside, macOf(t, s.w.Host, "up0"))
		}},
		{name: "a container of a bridge calls the resolver beside containers on a LAN", modes: lan, mount: func(t *testing.T, mode string, open bool) bool {
			s := newQuestions(t, mode, open)
			return s.calls(t, s.far.Netns, "eth0", s.gateway)
		}},
		{name: "a question to the resolver with a neighbour's address", modes: isMacvlan, mount: func(t *testing.T, mode string, open bool) bool {
			s := newQuestions(t, mode, open)
			return s.forges(t, s.attacker.Endpoint.MAC)
		}},
		{name: "a question to the resolver with a neighbour's IP and MAC addresses", modes: lan,
			limit: "nothing on the host tells neighbours on a LAN apart that use each other's addresses. The answer goes to their owner, never to the forger",
			mount: func(t *testing.T, mode string, open bool) bool {
				s := newQuestions(t, mode, open)
				return s.forges(t, s.mac(s.victim))
			}},
		{name: "a flood of questions to the resolver", modes: isMacvlan, mount: func(t *testing.T, mode string, open bool) bool {
			s := newQuestions(t, mode, false)
			itself, others := s.floods(t, s.attacker)
			return open && itself || others
		}},
		{name: "a flood of questions to the resolver with a neighbour's IP and MAC addresses", modes: isMacvlan, limit: "it keeps the neighbour whose addresses are used from answers by UDP, and no other",
			mount: func(t *testing.T, mode string, open bool) bool {
				s := newQuestions(t, mode, false)
				itself, others := s.floods(t, s.victim)
				if others {
					t.Error("another neighbour is not answered")
				}
				return itself
			}},
	}
	for i := range all {
		all[i].class = "question"
	}
	return all
}

// questions is a host whose resolver answers containers on the LAN.
type questions struct {
	eye
	w                         *world.World
	mode                      string
	attacker, victim, witness *world.Pod
	// beside is the MAC address of the host's device beside them.
	beside heddle.MAC
	// far is on a bridge, whose MAC address is gateway.
	far     *world.Pod
	gateway heddle.MAC
}

func newQuestions(t *testing.T, mode string, open bool) *questions {
	t.Helper()
	if !hasKind(mode) {
		t.Skipf("no %s here", mode)
	}
	s := &questions{mode: mode, w: world.New(t, world.Answering(t, new(agent.Options)))}
	n := s.w.Network(t, "net", mode, onLAN)
	parent := heddle.LinkFact{Name: n.Parent, MAC: macOf(t, s.w.Host, n.Parent)}
	s.beside = heddle.Shim(parent).MAC
	if mode == isIPvlan {
		s.beside = parent.MAC
	}
	s.attacker, s.victim, s.witness = s.w.Pod(t, "attacker", "net"), s.w.Pod(t, "victim", "net"), s.w.Pod(t, "witness", "net")
	for _, f := range heddle.Families() {
		for _, pod := range []*world.Pod{s.victim, s.witness} {
			world.Within(t, world.RepairTime, pod.Name+" is answered", func() error { return s.asks(pod, f) })
		}
	}
	far := s.w.Network(t, "far", "bridge")
	s.far, s.gateway = s.w.Pod(t, "far", "far"), far.GatewayMAC()
	if open {
		if err := s.w.Close(); err != nil { // an agent would repair it
			t.Fatal(err)
		}
		t.Cleanup(func() { s.w.Start(t) })
		s.w.Host.Sh(t, "nft flush chain inet heddle guard-resolver")
		s.wanted = true
	}
	return s
}

// asks asks for a name that is not there, as a stub does.
func (s *questions) asks(pod *world.Pod, f heddle.Family) error {
	said, err := world.Resolve(pod, "udp", heddle.ResolverAddr(f), "none.heddle.internal", dns.TypeA)
	if err == nil && said != "NXDOMAIN" {
		err = fmt.Errorf("told %s", said)
	}
	return err
}

func (s *questions) mac(pod *world.Pod) heddle.MAC {
	if s.mode == isIPvlan {
		return s.beside
	}
	return pod.Endpoint.MAC
}

// calls connects to the resolver by each of the MAC addresses.
func (s *questions) calls(t *testing.T, from world.Netns, link string, by ...heddle.MAC) bool {
	t.Helper()
	came := false
	for _, f := range heddle.Families() {
		at := heddle.ResolverAddr(f)
		for _, mac := range by {
			from.Sh(t, "ip route replace %s dev %s && ip neighbour replace %[1]s lladdr %[3]s dev %[2]s", at, link, mac)
			c, err := from.Dial("tcp", netip.AddrPort{}, netip.AddrPortFrom(at, 53), s.limit())
			if err == nil {
				came = true
				c.Close()
			}
		}
	}
	return came
}

// question is a frame with a question that has the victim's source.
func (s *questions) question(from heddle.MAC, as netip.Addr) []byte {
	text, err := new(dns.Msg).SetQuestion("none.heddle.internal.", dns.TypeA).Pack()
	if err != nil {
		panic(err) // a mistake in the attack itself
	}
	at := heddle.ResolverAddr(heddle.FamilyOf(as))
	ip := internet(as, at, layers.IPProtocolUDP)
	udp := &layers.UDP{SrcPort: 6666, DstPort: 53}
	udp.SetNetworkLayerForChecksum(ip.(gopacket.NetworkLayer))
	return build(ether(from, s.beside, kindOf(as)), ip, udp, gopacket.Payload(text))
}

// forges sends questions with the victim's source, and reports whether the victim gets an answer.
// The forger never does.
func (s *questions) forges(t *testing.T, from heddle.MAC) bool {
	t.Helper()
	answer := func(f world.Frame) bool {
		udp, is := f.Packet().TransportLayer().(*layers.UDP)
		return is && !f.Out && udp.SrcPort == 53 && udp.DstPort == 6666
	}
	own, others := s.attacker.Capture(t, "eth0"), s.victim.Capture(t, "eth0")
	for _, a := range s.victim.Addrs() {
		s.attacker.Send(t, "eth0", s.question(from, a))
	}
	came := s.saw(others, answer)
	if world.Count(own.Stop(), answer) > 0 {
		t.Error("the answer comes to the forger")
	}
	return came
}

// floods sends questions in a container's name without end. It reports whether that one is kept from
// an answer by UDP, and whether one of its neighbours is kept from one as stubs ask for it.
func (s *questions) floods(t *testing.T, as *world.Pod) (itself, others bool) {
	t.Helper()
	var frames [][]byte
	for range 4096 {
		frames = append(frames, s.question(s.mac(as), as.V4()))
	}
	var ended atomic.Bool
	var running sync.WaitGroup
	running.Go(func() {
		for !ended.Load() {
			_ = s.attacker.TrySend("eth0", frames...)
		}
	})
	defer running.Wait()
	defer ended.Store(true)
	itself = within(time.Minute, func() bool {
		c := dns.Client{Timeout: time.Second}
		at := netip.AddrPortFrom(heddle.ResolverAddr(heddle.IPv4), 53).String()
		return as.Do(func() error {
			r, _, err := c.Exchange(new(dns.Msg).SetQuestion("none.heddle.internal.", dns.TypeA), at)
			if err == nil && r.Truncated {
				err = errors.New("come by TCP")
			}
			return err
		}) != nil
	})
	for range 20 {
		for _, pod := range []*world.Pod{s.victim, s.witness} {
			if pod == as {
				continue
			}
			if err := s.asks(pod, heddle.IPv4); err != nil {
				t.Logf("%s: %v", pod.Name, err)
				others = true
			}
		}
	}
	return itself, others
}
