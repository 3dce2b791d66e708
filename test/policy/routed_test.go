package policy_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestRouted: what passes a port without a rule for the sake of the link does not leave the link: the host routes none of it to the outside. Nor
// does a frame to a group of bridges, which the host's stack gets at the port itself.
func TestRouted(t *testing.T) {
	w := world.New(t)
	w.BridgeNF(t, false)
	n := w.Network(t, "net", "bridge")
	inmate, web := w.Pod(t, "inmate", "net", named("inmate")), w.Pod(t, "web", "net", named("web"))
	enforce(t, w, closed)
	w.Outside.Reaches(t, world.Host4, world.Host6) // the host has the neighbour's address
	gateway, from := n.GatewayMAC(), inmate.Endpoint.MAC
	mark := marks("routed")
	type attempt struct {
		name  string
		frame []byte
		// routed says that it comes without the policy.
		routed bool
	}
	var all []attempt
	add := func(name string, to heddle.MAC, packet []byte) {
		all = append(all, attempt{name, frame(from, to, packet), to == gateway})
	}
	out6, out4, own := world.Outside6, world.Outside4, inmate.V6()
	for _, kind := range []byte{133, 135, 136} {
		target := own.AsSlice()
		if kind == 133 {
			target = nil
		}
		add(fmt.Sprint("neighbour discovery, type ", kind), gateway, ip6(own, out6, icmp6, 255, checked(own, out6, message(kind, 0, make([]byte, 4), join(target, mark())))))
	}
	for _, group := range []heddle.MAC{"01:80:c2:00:00:00", "01:80:c2:00:00:03", "01:80:c2:00:00:0e"} {
		add("IPv4 to "+string(group), group, ip(inmate.V4(), out4, udp, datagram(4000, 7000, mark())))
		add("IPv6 to "+string(group), group, ip(own, out6, udp, datagram(4000, 7000, mark())))
	}
	try := func() (came map[string]bool) {
		seen, probes := w.Outside.Capture(t, "eth0"), web.Capture(t, "eth0")
		for _, a := range all {
			inmate.Send(t, "eth0", a.frame)
		}
		done := mark()
		inmate.Send(t, "eth0", frame(from, web.Endpoint.MAC, ip(inmate.V4(), web.V4(), udp, datagram(1, 9, done))))
		probes.Await(1, world.Contains(string(done)))
		probes.Stop()
		came = map[string]bool{}
		for _, got := range seen.Stop() {
			for _, a := range all {
				if bytes.Contains(got.Data, a.frame[len(a.frame)-12:]) {
					came[a.name] = true
				}
			}
		}
		return came
	}
	for name := range try() {
		t.Errorf("it comes to the outside: %s", name)
	}
	w.AuditEmpty(t)
	cell.Must(t, w.DeletePolicy("shut-in"))
	came := try()
	for _, a := range all {
		if a.routed != came[a.name] {
			t.Errorf("without the policy, came is %t: %s", came[a.name], a.name)
		}
	}
	w.AuditEmpty(t)
}

// checked is an ICMPv6 message with its checksum.
func checked(src, dst netip.Addr, m []byte) []byte {
	m[2], m[3] = 0, 0
	pseudo := join(src.AsSlice(), dst.AsSlice(), []byte{0, 0, byte(len(m) >> 8), byte(len(m)), 0, 0, 0, icmp6}, m)
	if len(pseudo)%2 == 1 {
		pseudo = append(pseudo, 0)
	}
	s := sum(pseudo)
	m[2], m[3] = byte(s>>8), byte(s)
	return m
}
