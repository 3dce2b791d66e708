package attack_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// askerAttacks are about what containers ask the host's name servers, which the resolver answers.
func askerAttacks() []ownAttack {
	const modes = "bridge routed overlay"
	return []ownAttack{
		{class: "asker", name: "question to the host's name server with another's address", modes: modes, mount: asksAsAnother},
		{class: "asker", name: "another network's names by the host's name server", modes: modes, mount: asksForOthers},
	}
}

// asking is a world with a resolver, and with name servers of the host.
func asking(t *testing.T) *world.World {
	var o agent.Options
	return world.New(t, world.Answering(t, &o), world.NameServers(t, world.Outside4.String(), world.Outside6.String()))
}

// asksAsAnother reports whether a neighbour gets the answers to an attacker's questions.
func asksAsAnother(t *testing.T, mode string, open bool) bool {
	w := asking(t)
	n := w.Network(t, "net", mode)
	attacker, victim := w.Engine(t, "attacker", "net", world.AsksHost), w.Engine(t, "victim", "net", world.AsksHost)
	answers(t, victim, "nobody", "NXDOMAIN")
	if open {
		cell.Must(t, w.Close())
		w.Host.Sh(t, unguarded)
		defer func() { w.Start(t); w.AuditEmpty(t) }()
	}
	gateway := n.GatewayMAC()
	if mode != "bridge" {
		gateway = attacker.Endpoint.ID.PortMAC()
	}
	took := 0
	for i, server := range servers() {
		question, err := new(dns.Msg).SetQuestion(mark+".", dns.TypeA).Pack()
		cell.Must(t, err)
		c := victim.Capture(t, "eth0")
		attacker.Send(t, "eth0", build(append([]gopacket.SerializableLayer{ether(attacker.Endpoint.MAC, gateway, kindOf(server))},
			between(victim.Addrs()[i], server, 5353, 53, question)...)...))
		e := eye{wanted: open}
		if e.saw(c, func(f world.Frame) bool { return !f.Out && world.Contains(mark)(f) }) {
			took++
		}
	}
	return took == len(servers()) || !open && took > 0
}

func servers() []netip.Addr { return []netip.Addr{world.Outside4, world.Outside6} }

// answers waits until the host's name servers seem to answer the container so.
func answers(t *testing.T, p *world.Pod, name, want string) {
	t.Helper()
	for _, server := range servers() {
		world.Soon(t, "the resolver answers", func() error { return isTold(p, server, name, want) })
	}
}

// isTold reports why a container is not told this by a name server.
func isTold(p *world.Pod, at netip.Addr, name, want string) error {
	said, err := world.Resolve(p, "tcp", at, name, dns.TypeA)
	if err == nil && said != want {
		err = fmt.Errorf("%s at %v: %s", name, at, said)
	}
	return err
}

// asksForOthers reports whether a container finds one of a network that it is not on. Who is on it may.
func asksForOthers(t *testing.T, mode string, open bool) bool {
	w := asking(t)
	w.Network(t, "net", mode)
	w.Network(t, "far", mode)
	asker, other := w.Engine(t, "attacker", "net", world.AsksHost), w.Engine(t, "other", "far", world.AsksHost)
	cell.Must(t, w.SetNames(other.Endpoint.ID, "other", nil))
	answers(t, other, "other", other.V4().String())
	answers(t, asker, "nobody", "NXDOMAIN")
	if open {
		asker = other
	}
	for _, at := range servers() { // the other network's gateway is tried elsewhere
		for _, name := range []string{"other", "other.far", "other.far.heddle.internal"} {
			if isTold(asker, at, name, other.V4().String()) == nil {
				return true
			}
		}
	}
	return false
}
