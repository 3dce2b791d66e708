package policy_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// attack is frames that one sends another, whom no rule lets it reach. Each has its mark in it.
type attack struct {
	name   string
	frames [][]byte
	// base says that another guard of the port stops it, too: it does not come without the policy either.
	base bool
}

// attacks are what src tries, to be seen at dst. Web is whom rules allow; stranger is on the same network.
func attacks(src, dst, web *world.Pod, mark func() []byte) (all []attack) {
	from, to := src.Endpoint.MAC, dst.Endpoint.MAC
	add := func(base bool, name string, packets ...[]byte) {
		a := attack{name: name, base: base}
		for _, p := range packets {
			a.frames = append(a.frames, frame(from, to, p))
		}
		all = append(all, a)
	}
	for _, v := range []struct {
		src, dst, web netip.Addr
		icmp          byte
	}{{src.V4(), dst.V4(), web.V4(), icmp4}, {src.V6(), dst.V6(), web.V6(), icmp6}} {
		ver := fmt.Sprintf("IPv%c, ", "46"[len(v.src.AsSlice())/16])
		add(false, ver+"UDP", ip(v.src, v.dst, udp, datagram(4000, 7000, mark())))
		for _, port := range []uint16{53, 67, 123, 443, 7000} {
			add(false, ver+fmt.Sprint("UDP from port ", port), ip(v.src, v.dst, udp, datagram(port, 7000, mark())))
		}
		for _, flags := range []byte{0x00, 0x01, 0x02, 0x03, 0x04, 0x10, 0x11, 0x12, 0x14, 0x18, 0x29, 0x3f} {
			add(false, ver+fmt.Sprintf("TCP with flags %#x", flags), ip(v.src, v.dst, tcp, segment(80, 7000, flags, mark())))
		}
		add(false, ver+"SCTP", ip(v.src, v.dst, sctp, join(ports(1, 7000), make([]byte, 8), mark())))
		add(false, ver+"an unknown protocol", ip(v.src, v.dst, 253, mark()))
		add(false, ver+"a packet in a packet", ip(v.src, v.dst, 4, ip4(web.V4(), dst.V4(), udp, 0, 0, nil, datagram(1, 7000, mark()))))
		add(true, ver+"as whom rules allow", ip(v.web, v.dst, udp, datagram(4000, 7000, mark())))
		add(false, ver+"UDP cut short", ip(v.src, v.dst, udp, []byte("!cut!")))
		all[len(all)-1].frames[0] = append(all[len(all)-1].frames[0], mark()...)
	}
	a, b, p := src.V4(), dst.V4(), uint16(7000)
	first := func(id uint16, m []byte) []byte {
		return ip4(a, b, udp, 0x2000, id, nil, join(datagram(4000, p, nil), m))
	}
	add(false, "IPv4, first fragment", first(1, mark()))
	add(false, "IPv4, later fragment", ip4(a, b, udp, 2, 2, nil, mark()))
	add(false, "IPv4, later fragment at 8", ip4(a, b, tcp, 1, 3, nil, mark()))
	add(false, "IPv4, later fragment after its first", first(4, mark()), ip4(a, b, udp, 2, 4, nil, mark()))
	add(false, "IPv4, fragments the wrong way round", ip4(a, b, udp, 2, 5, nil, mark()), first(5, mark()))
	add(false, "IPv4, first fragment without the ports", ip4(a, b, udp, 0x2000, 6, nil, mark()[:2]), ip4(a, b, udp, 1, 6, nil, mark()))
	add(false, "IPv4, options", ip4(a, b, udp, 0, 0, []byte{1, 1, 1, 0}, datagram(4000, p, mark())))
	add(false, "IPv4, options that look like ports", ip4(a, b, udp, 0, 0, ports(4000, p), datagram(4000, 1, mark())))
	add(false, "IPv4, router alert", ip4(a, b, udp, 0, 0, []byte{148, 4, 0, 0}, datagram(4000, p, mark())))
	add(false, "IPv4, authentication header", ip4(a, b, auth, 0, 0, nil, join([]byte{udp, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1}, datagram(4000, p, mark()))))
	add(false, "IPv4, echo request with a code", ip4(a, b, icmp4, 0, 0, nil, message(8, 1, ports(1, 1), mark())))
	add(false, "IPv4, echo reply unasked", ip4(a, b, icmp4, 0, 0, nil, message(0, 0, ports(1, 1), mark())))
	add(false, "IPv4, timestamp request", ip4(a, b, icmp4, 0, 0, nil, message(13, 0, ports(1, 1), mark())))
	for _, kind := range []byte{3, 11, 12} {
		quoted := ip4(b, a, udp, 0, 0, nil, datagram(p, 4001, nil))
		add(false, fmt.Sprint("IPv4, error of type ", kind, " about nothing"), ip4(a, b, icmp4, 0, 0, nil, message(kind, 0, make([]byte, 4), join(quoted, mark()))))
		quoted = ip4(b, web.V4(), udp, 0, 0, nil, datagram(p, 4001, nil))
		add(true, fmt.Sprint("IPv4, error of type ", kind, " about another's"), ip4(a, b, icmp4, 0, 0, nil, message(kind, 0, make([]byte, 4), join(quoted, mark()))))
	}
	add(false, "IPv4, to a group of hosts", ip4(a, netip.MustParseAddr("224.0.0.251"), udp, 0, 0, nil, datagram(5353, 5353, mark())))
	add(false, "IPv4, to another's address", ip4(a, web.V4(), udp, 0, 0, nil, datagram(4000, p, mark())))

	a, b = src.V6(), dst.V6()
	dgram := func() []byte { return datagram(4000, p, mark()) }
	for _, h := range []byte{hopByHop, dstOptions} {
		add(false, fmt.Sprint("IPv6, header ", h), ip6(a, b, h, 64, join(header(udp, 1, 4), dgram())))
		add(false, fmt.Sprint("IPv6, header ", h, " behind a fragment's"), ip6(a, b, piece6, 64, join(fragment(h, 0, false, 1), header(udp, 1, 4), dgram())))
	}
	add(false, "IPv6, routing header", ip6(a, b, routing, 64, join(header(udp, 4, 0), dgram())))
	add(false, "IPv6, authentication header", ip6(a, b, auth, 64, join([]byte{udp, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1}, dgram())))
	add(false, "IPv6, whole in a fragment", ip6(a, b, piece6, 64, join(fragment(udp, 0, false, 2), dgram())))
	add(false, "IPv6, fragment in a fragment", ip6(a, b, piece6, 64, join(fragment(piece6, 0, false, 3), fragment(udp, 0, false, 3), dgram())))
	add(false, "IPv6, first fragment", ip6(a, b, piece6, 64, join(fragment(udp, 0, true, 4), dgram())))
	add(false, "IPv6, later fragment", ip6(a, b, piece6, 64, join(fragment(udp, 16, false, 5), mark())))
	add(false, "IPv6, later fragment after its first", ip6(a, b, piece6, 64, join(fragment(udp, 0, true, 6), dgram())), ip6(a, b, piece6, 64, join(fragment(udp, 16, false, 6), mark())))
	add(false, "IPv6, echo reply unasked", ip6(a, b, icmp6, 64, message(129, 0, ports(1, 1), mark())))
	add(false, "IPv6, solicitation from afar", ip6(a, b, icmp6, 64, message(135, 0, make([]byte, 4), join(b.AsSlice(), mark()))))
	add(false, "IPv6, echo in a hop-by-hop header, as membership", ip6(a, netip.MustParseAddr("ff02::fb"), hopByHop, 1, join(header(icmp6, 5, 2), message(128, 0, ports(1, 1), mark()))))
	for _, kind := range []byte{1, 2, 3, 4} {
		own := src.Endpoint.MAC.LinkLocal()
		add(false, fmt.Sprint("IPv6, error of type ", kind, " from a link-local address"), ip6(own, b, icmp6, 64, message(kind, 0, []byte{0, 0, 5, 0}, join(ip6(b, own, udp, 64, datagram(p, 4001, nil)), mark()))))
		quoted := ip6(b, a, udp, 64, datagram(p, 4001, nil))
		add(false, fmt.Sprint("IPv6, error of type ", kind, " about nothing"), ip6(a, b, icmp6, 64, message(kind, 0, []byte{0, 0, 5, 0}, join(quoted, mark()))))
	}
	return all
}

// marks gives out marks, which no other frame has in it.
func marks(word string) func() []byte {
	n := 0
	return func() []byte {
		n++
		return fmt.Appendf(nil, "<%s%04d>", word, n)
	}
}

const closed = `
policies:
- name: closed
  endpoints: {names: [db]}
  rules:
  - {direction: ingress, action: allow, protocol: udp, ports: [9], peers: [endpoints: {names: [web]}]}
- name: shut-in
  endpoints: {names: [inmate]}
  rules:
  - {direction: egress, action: allow, protocol: udp, ports: [9], peers: [endpoints: {names: [web]}]}
`

func named(name string) world.PodOption { return func(r *heddle.AttachRequest) { r.Name = name } }

// TestAttacks: nothing that somebody can send comes past a policy, neither in nor out, at a container's port and at a machine's; without the
// policy, all of it does that no other guard stops.
func TestAttacks(t *testing.T) {
	for _, kind := range []struct {
		name string
		make func(w *world.World, t *testing.T, name, network string, options ...world.PodOption) *world.Pod
	}{
		{"container", func(w *world.World, t *testing.T, name, network string, o ...world.PodOption) *world.Pod {
			return w.Pod(t, name, network, o...)
		}},
		{"machine", func(w *world.World, t *testing.T, name, network string, o ...world.PodOption) *world.Pod {
			return w.Machine(t, name, network, o...)
		}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			w := world.New(t)
			w.BridgeNF(t, false) // it would hold fragments back
			w.Network(t, "net", "bridge", world.With("broadcast=true"))
			db, inmate := kind.make(w, t, "db", "net", named("db")), kind.make(w, t, "inmate", "net", named("inmate"))
			web, stranger := w.Pod(t, "web", "net", named("web")), w.Pod(t, "stranger", "net", named("stranger"))
			enforce(t, w, closed)
			for _, way := range []struct {
				name     string
				src, dst *world.Pod
				// probe is allowed, and shows that what was sent before it has been decided.
				from, to *world.Pod
			}{{"in", stranger, db, web, db}, {"out", inmate, stranger, inmate, web}} {
				run := func(word string) (came map[string]bool) {
					seen := way.dst.Capture(t, "eth0")
					probes := way.to.Capture(t, "eth0")
					came = map[string]bool{}
					var all [][]byte
					list := attacks(way.src, way.dst, web, marks(word))
					for _, a := range list {
						all = append(all, a.frames...)
					}
					way.src.Send(t, "eth0", all...)
					done := []byte("<done-" + word + ">")
					way.from.Send(t, "eth0", frame(way.from.Endpoint.MAC, way.to.Endpoint.MAC, ip(way.from.V4(), way.to.V4(), udp, datagram(1, 9, done))))
					if way.src != way.from { // its own last one, which is answered if it is a request for an address
						cell.Must(t, way.src.TrySend("eth0", frame(way.src.Endpoint.MAC, web.Endpoint.MAC, ip(way.src.V4(), web.V4(), udp, datagram(1, 9, done)))))
					}
					probes.Await(1, world.Contains(string(done)))
					if !probes.Has(world.Contains(string(done))) {
						t.Fatal("what a rule allows does not come")
					}
					frames := seen.Stop()
					probes.Stop()
					for _, a := range list {
						for _, f := range a.frames {
							m := f[max(0, len(f)-10):]
							if world.Count(frames, func(got world.Frame) bool { return !got.Out && bytes.Contains(got.Data, m) }) > 0 {
								came[a.name] = true
							}
						}
					}
					return came
				}
				for name := range run(way.name) {
					t.Errorf("%s: %s came past the policy", way.name, name)
				}
				// without it, the same comes
				cell.Must(t, errors.Join(w.DeletePolicy("closed"), w.DeletePolicy("shut-in")))
				came := run(way.name + "-open")
				for _, a := range attacks(way.src, way.dst, web, marks("x")) {
					if came[a.name] == a.base {
						t.Errorf("%s: without the policy, came is %t: %s", way.name, came[a.name], a.name)
					}
				}
				enforce(t, w, closed)
			}
			w.AuditEmpty(t)
		})
	}
}
