package policy_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

const twoWays = `
policies:
- name: closed
  endpoints: {names: [db]}
  rules:
  - {direction: ingress, action: allow, protocol: udp, ports: [9]}
  - {direction: ingress, action: deny, protocol: tcp, ports: [23], priority: 1}
- name: shut-in
  endpoints: {names: [inmate]}
  directions: [egress]
`

// flowLog reads what is refused.
type flowLog struct {
	t *testing.T
	w *events.Watcher
}

func flowsOf(t *testing.T, w *world.World, since ...string) flowLog {
	t.Helper()
	log, err := w.Flows()
	cell.Must(t, err)
	watcher, err := log.Watch(strings.Join(since, ""))
	cell.Must(t, err)
	t.Cleanup(watcher.Close)
	return flowLog{t, watcher}
}

// until reads to the first flow that fits, which it returns last.
func (l flowLog) until(fits func(events.Event) bool) (all []events.Event) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		some, err := l.w.Next(ctx)
		if err != nil {
			l.t.Fatalf("what is refused is not told: %v; told is %v", err, texts(all))
		}
		for _, e := range some {
			if all = append(all, e); fits(e) {
				return all
			}
		}
	}
}

func texts(all []events.Event) (lines []string) {
	for _, e := range all {
		lines = append(lines, e.Object+" "+e.Flow.String())
	}
	return lines
}

func toPort(port uint16) func(events.Event) bool {
	return func(e events.Event) bool { return e.Flow.DstPort == port }
}

// TestFlows: what a policy refuses is told, with the endpoint, the direction, the policy and the rule; what one allows is not. Frames that
// no stack would send are told as far as they say something.
func TestFlows(t *testing.T) {
	w := world.New(t)
	w.BridgeNF(t, false)
	w.Network(t, "net", "bridge")
	db, inmate := w.Pod(t, "db", "net", named("db")), w.Pod(t, "inmate", "net", named("inmate"))
	other, late := w.Pod(t, "other", "net"), w.Pod(t, "late", "net")
	enforce(t, w, twoWays)
	log := flowsOf(t, w)
	from, to := other.Endpoint.MAC, db.Endpoint.MAC
	check := func(other *world.Pod) {
		t.Helper()
		from := other.Endpoint.MAC
		for _, v := range []struct {
			src, dst netip.Addr
			icmp     byte
			echo     string
			size     int
		}{{other.V4(), db.V4(), icmp4, "echo-request", 20}, {other.V6(), db.V6(), icmp6, "echo-request", 40}} {
			ends := fmt.Sprintf("%s to %s", netip.AddrPortFrom(v.src, 4000), v.dst)
			if v.dst.Is6() {
				ends = fmt.Sprintf("%s to [%s]", netip.AddrPortFrom(v.src, 4000), v.dst)
			}
			echo := message(8, 0, ports(1, 1), nil)
			if v.dst.Is6() {
				echo = message(128, 0, ports(1, 1), nil)
			}
			other.Send(t, "eth0",
				frame(from, to, ip(v.src, v.dst, udp, datagram(4000, 9, []byte("allowed")))),
				frame(from, to, ip(v.src, v.dst, tcp, segment(4000, 23, 2, nil))),
				frame(from, to, ip(v.src, v.dst, tcp, segment(4000, 80, 2, nil))),
				frame(from, to, ip(v.src, v.dst, v.icmp, echo)),
				frame(from, to, ip(v.src, v.dst, 253, []byte("\x1b[2Junknown"))),
				frame(from, to, ip(v.src, v.dst, sctp, join(ports(4000, 7), make([]byte, 8)))))
			got := texts(log.until(toPort(7)))
			none := "no rule of closed allows it"
			want := []string{
				fmt.Sprintf("db/eth0 ingress tcp %s:23, %d bytes: rule 2 of policy closed", ends, v.size+20),
				fmt.Sprintf("db/eth0 ingress tcp %s:80, %d bytes: %s", ends, v.size+20, none),
				fmt.Sprintf("db/eth0 ingress icmp/%s %s to %s, %d bytes: %s", v.echo, v.src, v.dst, v.size+8, none),
				fmt.Sprintf("db/eth0 ingress 253 %s to %s, %d bytes: %s", v.src, v.dst, v.size+11, none),
				fmt.Sprintf("db/eth0 ingress sctp %s:7, %d bytes: %s", ends, v.size+12, none),
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("told is\n%s\nand not\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	check(other)
	e := log.last(t, inmate, frame(inmate.Endpoint.MAC, to, ip(inmate.V6(), db.V6(), udp, datagram(1, 9, nil))))
	if e.Object != "inmate/eth0" || e.Network != "net" || e.Flow.Direction != "egress" || strings.Join(e.Flow.Policies, ",") != "shut-in" || e.Flow.Rule != 0 {
		t.Errorf("what an endpoint may not send: %+v %+v", e, e.Flow)
	}
	// what no stack would send
	for why, packet := range map[string][]byte{
		"behind IP options":  ip4(other.V4(), db.V4(), udp, 0, 0, []byte{1, 1, 1, 0}, datagram(1, 8, nil)),
		"behind  IP options": ip6(other.V6(), db.V6(), routing, 64, join(header(udp, 4, 0), datagram(1, 8, nil))),
		"first piece":        ip4(other.V4(), db.V4(), udp, 2, 5, nil, []byte("rest")),
		"first  piece":       ip6(other.V6(), db.V6(), piece6, 64, join(fragment(udp, 16, false, 5), []byte("rest"))),
		"no rule":            ip4(other.V4(), db.V4(), tcp, 0, 0, nil, []byte{1}),
	} {
		e := log.last(t, other, frame(from, to, packet))
		if !strings.Contains(e.Flow.Why, strings.ReplaceAll(why, "  ", " ")) || e.Flow.Src != other.V4() && e.Flow.Src != other.V6() || e.Object != "db/eth0" {
			t.Errorf("%s: told is %+v", why, e.Flow)
		}
	}
	// an agent that comes back listens, too; of the other one enough was told
	w.Restart(t, nil)
	late.Send(t, "eth0", frame(late.Endpoint.MAC, to, ip(late.V4(), db.V4(), udp, datagram(1, 5, nil))))
	log = flowsOf(t, w, events.SinceAll) // it was told before anybody asked
	log.until(toPort(5))
	check(late)
	w.AuditEmpty(t)
}

// last sends a frame, and returns what is told of it.
func (l flowLog) last(t *testing.T, from *world.Pod, frame []byte) events.Event {
	t.Helper()
	from.Send(t, "eth0", frame)
	all := l.until(func(events.Event) bool { return true })
	return all[len(all)-1]
}

// TestFlowsOfTheFirstPolicy: what is refused while the first policy is made is told, with the policy: here the test itself leads the port to
// the end of the rules, before the agent leads it to the policy's.
func TestFlowsOfTheFirstPolicy(t *testing.T) {
	w := world.New(t)
	w.BridgeNF(t, false)
	w.Network(t, "net", "bridge")
	db, other := w.Pod(t, "db", "net", named("db")), w.Pod(t, "other", "net")
	log := flowsOf(t, w)
	var told []events.Event
	w.TripAt(func(step string) error {
		if strings.HasPrefix(step, "make element/bridge/policed-") {
			w.Host.Sh(t, "nft add element bridge heddle policed-in '{ \"%s\" : goto refused-in }'", db.Port())
			other.Send(t, "eth0", frame(other.Endpoint.MAC, db.Endpoint.MAC, ip4(other.V4(), db.V4(), udp, 0x2000, 1, nil, datagram(1, 7, nil)))) // a fragment, for the fast path would lead past the rules
			told = slices.DeleteFunc(log.until(toPort(7)), func(e events.Event) bool { return e.Flow.DstPort != 7 })                              // without its own reports of groups
			w.Host.Sh(t, "nft delete element bridge heddle policed-in '{ \"%s\" }'", db.Port())
		}
		return nil
	})
	enforce(t, w, twoWays)
	w.TripAt(nil)
	if len(told) != 1 || told[0].Flow.Why != "no rule of closed allows it" {
		t.Errorf("told is %v", texts(told))
	}
	w.AuditEmpty(t)
}

// TestFlowFlood: who floods a port with what is refused, or its own, does not hide what is refused to others, at the same port and at others; of the flood a
// bounded part is told.
func TestFlowFlood(t *testing.T) {
	w := world.New(t)
	w.BridgeNF(t, false)
	w.Network(t, "net", "bridge")
	db, hog, other, inmate := w.Pod(t, "db", "net", named("db")), w.Pod(t, "hog", "net"), w.Pod(t, "other", "net"), w.Pod(t, "inmate", "net", named("inmate"))
	enforce(t, w, strings.ReplaceAll(twoWays, "[inmate]", "[inmate, hogged]"))
	hogged := w.Pod(t, "hogged", "net", named("hogged"))
	log := flowsOf(t, w)
	began := time.Now()
	send := func(from *world.Pod, port uint16, times int) {
		var all [][]byte
		for i := range times {
			src := from.V4()
			if i%2 == 1 { // another address of the same sender
				src = from.Endpoint.MAC.LinkLocal()
				all = append(all, frame(from.Endpoint.MAC, db.Endpoint.MAC, ip6(src, db.V6(), udp, 64, datagram(uint16(i), port, nil))))
				continue
			}
			all = append(all, frame(from.Endpoint.MAC, db.Endpoint.MAC, ip4(src, db.V4(), udp, 0, 0, nil, datagram(uint16(i), port, nil))))
		}
		from.Send(t, "eth0", all...)
	}
	send(hogged, 1001, 20000)
	send(hog, 1000, 20000)
	send(other, 2000, 1)
	send(inmate, 2001, 1)
	seen := map[uint16]int{}
	for _, e := range log.until(func(e events.Event) bool { seen[e.Flow.DstPort]++; return seen[2000] > 0 && seen[2001] > 0 }) {
		if e.Flow.DstPort >= 2000 && e.Flow.Src != other.V4() && e.Flow.Src != inmate.V4() {
			t.Errorf("told is %v", texts([]events.Event{e}))
		}
	}
	most := 20 + 5*int(time.Since(began)/time.Second+1)
	for _, port := range []uint16{1000, 1001} {
		if seen[port] == 0 || seen[port] > most {
			t.Errorf("of a flood to port %d, %d packets are told, and at most %d may be", port, seen[port], most)
		}
	}
	w.AuditEmpty(t)
}
