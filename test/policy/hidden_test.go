package policy_test

import (
	"bytes"
	"testing"

	"github.com/heddle-network/heddle/test/world"
)

// TestHiddenPorts: where all is allowed but a port, no header and no fragment hides that port from the rule.
func TestHiddenPorts(t *testing.T) {
	w := world.New(t)
	w.BridgeNF(t, false)
	w.Network(t, "net", "bridge")
	db, web := w.Pod(t, "db", "net", named("db")), w.Pod(t, "web", "net", named("web"))
	enforce(t, w, `
policies:
- name: but-one
  endpoints: {names: [db]}
  rules:
  - {direction: ingress, action: deny, protocol: udp, ports: [7000]}
  - {direction: ingress, action: allow}
`)
	mark := marks("hidden")
	dgram := func() []byte { return datagram(4000, 7000, mark()) }
	a, b, c, d := web.V4(), db.V4(), web.V6(), db.V6()
	packets := [][]byte{
		ip4(a, b, udp, 0, 0, nil, dgram()),
		ip4(a, b, udp, 2, 1, nil, mark()), // a later fragment without its first
		ip4(a, b, udp, 0x2000, 2, nil, dgram()), ip4(a, b, udp, 2, 2, nil, mark()),
		ip4(a, b, udp, 0, 0, ports(4000, 1), dgram()),
		ip6(c, d, udp, 64, dgram()),
		ip6(c, d, piece6, 64, join(fragment(udp, 16, false, 1), mark())),
		ip6(c, d, piece6, 64, join(fragment(udp, 0, false, 2), dgram())),
	}
	for _, h := range []byte{hopByHop, dstOptions} {
		packets = append(packets, ip6(c, d, h, 64, join(header(udp, 1, 4), dgram())),
			ip6(c, d, piece6, 64, join(fragment(h, 0, false, 3), header(udp, 1, 4), dgram())))
	}
	// to a port that is allowed, but where the flow is looked up there are other ports
	packets = append(packets, ip4(a, b, udp, 0, 0, ports(4000, 9), datagram(4000, 9, mark())),
		ip6(c, d, dstOptions, 64, join(header(udp, 1, 4), datagram(4000, 9, mark()))))
	seen := db.Capture(t, "eth0")
	for _, p := range packets {
		web.Send(t, "eth0", frame(web.Endpoint.MAC, db.Endpoint.MAC, p))
	}
	web.Send(t, "eth0", frame(web.Endpoint.MAC, db.Endpoint.MAC, ip(a, b, udp, datagram(1, 9, []byte("<done>")))))
	seen.Await(1, world.Contains("<done>"))
	if !seen.Has(world.Contains("<done>")) {
		t.Fatal("what is allowed does not come")
	}
	for _, f := range seen.Stop() {
		if !f.Out && bytes.Contains(f.Data, []byte("<hidden")) {
			t.Errorf("it comes past the rule: % x", f.Data)
		}
	}
	w.AuditEmpty(t)
}
