package resolver_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/resolver/process"
)

// TestForeign: who is no endpoint of the network gets nothing.
func TestForeign(t *testing.T) {
	s := newScene(t).start(t)
	for _, at := range []string{app4, app6} {
		silence(t, s.stranger, at)
		cut(t, s.stranger, at)
		says(t, s.c1, at, "web A", "10.1.0.2")
	}
	silence(t, s.c1, back4) // an endpoint, of another network
	cut(t, s.c1, back4)
	s.says(t, "6 are foreign", func(st process.Status) bool { return st.Counts.Foreign >= 6 })
}

// TestNames: who asks sees the names of the networks that its container is on, and no others.
func TestNames(t *testing.T) {
	s := newScene(t).start(t)
	for _, at := range []string{app4, app6} {
		says(t, s.c1, at, "web A", "10.1.0.2")
		says(t, s.c1, at, "web AAAA", "fd01::2")
		says(t, s.c1, at, "web ANY", "10.1.0.2 fd01::2")
		says(t, s.c1, at, "www A", "10.1.0.2 10.1.0.3")
		says(t, s.c1, at, "far.app A", "10.1.0.4")
		says(t, s.c1, at, "far.app.heddle.internal A", "10.1.0.4")
		says(t, s.c1, at, "both A", "10.1.0.3")
		says(t, s.c2, at, "both A", "10.1.0.3 10.2.0.3")
		says(t, s.c2, at, "store.back.heddle.internal A", "10.2.0.4")
		says(t, s.c1, at, "store A", "NXDOMAIN")
		says(t, s.c1, at, "store.back.heddle.internal A", "NXDOMAIN")
	}
	says(t, s.c2, back4, "web A", "10.1.0.2")
	says(t, s.c3, back4, "web A", "NXDOMAIN")
	says(t, s.c3, back4, "web.app.heddle.internal A", "NXDOMAIN")
	r := says(t, s.c1, app4, "web A", "10.1.0.2")
	if r.Answer[0].Header().Ttl != 2 || !r.Authoritative {
		t.Errorf("the reply is %v", r)
	}
}

// TestServices: a service is at the containers of a name that have published its port.
func TestServices(t *testing.T) {
	s := newScene(t).start(t)
	for question, want := range map[string]string{
		"_http._tcp.web SRV": "0 0 80 web.app.heddle.internal.", "_80._TCP.Web.app SRV": "0 0 80 web.app.heddle.internal.",
		"_http._tcp.www.app.heddle.internal SRV": "0 0 80 both.app.heddle.internal. 0 0 80 web.app.heddle.internal.",
		"_8080._tcp.far SRV":                     "0 0 8080 far.app.heddle.internal.", "_domain._udp.far ANY": "0 0 53 far.app.heddle.internal.",
		"_http._tcp.web A": "", "_http._udp.web SRV": "NXDOMAIN", "_https._tcp.web SRV": "NXDOMAIN", "_http._tcp.store.back.heddle.internal SRV": "NXDOMAIN",
		"_nothing-like-that._tcp.web SRV": "NXDOMAIN", "_70000._tcp.web SRV": "NXDOMAIN", "_._tcp.web SRV": "NXDOMAIN"} {
		says(t, s.c1, app4, question, want)
	}
	r := says(t, s.c1, app6, "_http._tcp.web SRV", "0 0 80 web.app.heddle.internal.")
	var more []string
	for _, rr := range r.Extra {
		more = append(more, strings.Join(strings.Fields(rr.String()), " "))
	}
	if slices.Sort(more); !slices.Equal(more, []string{"web.app.heddle.internal. 2 IN A 10.1.0.2", "web.app.heddle.internal. 2 IN AAAA fd01::2"}) {
		t.Errorf("with it came %q", more)
	}
	s.far.does(func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(records(q, "SRV 0 0 5060 sip.example.org.")) })
	says(t, s.c1, app4, "_sip._udp.example.org SRV", "0 0 5060 sip.example.org.")
}

// TestNothing: a name without the type is there; what is not there may be remembered for a second.
func TestNothing(t *testing.T) {
	s := newScene(t).start(t)
	for question, want := range map[string]string{"far AAAA": "", "web MX": "", "web.app.heddle.internal TXT": "",
		"heddle.internal A": "", "app.heddle.internal SOA": "", "nobody A": "NXDOMAIN", "x.app.heddle.internal A": "NXDOMAIN"} {
		r := says(t, s.c1, app4, question, want)
		if len(r.Ns) != 1 {
			t.Errorf("%s: %v", question, r)
			continue
		}
		soa, ok := r.Ns[0].(*dns.SOA)
		if !ok || soa.Minttl != 1 || soa.Hdr.Ttl != 1 || !dns.IsSubDomain(soa.Hdr.Name, r.Question[0].Name) {
			t.Errorf("%s: %v", question, r.Ns[0])
		}
	}
}

// TestReverse: addresses of the asker's networks have names, others none.
func TestReverse(t *testing.T) {
	s := newScene(t).start(t)
	reverse := func(a string) string {
		name, err := dns.ReverseAddr(a)
		if err != nil {
			t.Fatal(err)
		}
		return name + " PTR"
	}
	says(t, s.c1, app4, reverse("10.1.0.2"), "web.app.heddle.internal.")
	says(t, s.c1, app4, reverse("fd01::2"), "web.app.heddle.internal.")
	says(t, s.c1, app4, reverse("10.1.0.4"), "far.app.heddle.internal.")
	says(t, s.c2, app4, reverse("10.2.0.4"), "store.back.heddle.internal.")
	says(t, s.c1, app4, reverse("10.1.0.200"), "NXDOMAIN")
	says(t, s.c1, app4, reverse("fd01::200"), "NXDOMAIN")
	says(t, s.c1, app4, "2.0.1.10.in-addr.arpa TXT", "")
	says(t, s.c1, app4, "0.1.10.in-addr.arpa SOA", "")
	says(t, s.c1, app4, "lb._dns-sd._udp.0.0.1.10.in-addr.arpa PTR", "NXDOMAIN")
	if seen := s.far.seen(); len(seen) > 0 {
		t.Errorf("outside was asked for %v", seen[0].msg.Question)
	}
	s.far.does(func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(records(q, "PTR outside.example.org.")) })
	says(t, s.c1, app4, reverse("10.2.0.4"), "outside.example.org.") // not its network
	says(t, s.c1, app4, "1.10.in-addr.arpa PTR", "outside.example.org.")
	says(t, s.c1, app4, "x.in-addr.arpa PTR", "outside.example.org.")
}

// TestCase: the case of a question does not matter, and comes back.
func TestCase(t *testing.T) {
	s := newScene(t).start(t)
	r := says(t, s.c1, app4, "wEb.aPP.HEDDLE.internal A", "10.1.0.2")
	if r.Question[0].Name != "wEb.aPP.HEDDLE.internal." || r.Answer[0].Header().Name != r.Question[0].Name {
		t.Errorf("the reply is %v", r)
	}
	says(t, s.c1, app4, "NOBODY.heddle.INTERNAL A", "NXDOMAIN")
}

// TestShuffle: each of several endpoints is named first at some time.
func TestShuffle(t *testing.T) {
	s := newScene(t)
	n := appNetwork()
	for i, a := range numbered("10.1.%d.%d", 24)[20:] {
		n.Endpoints = append(n.Endpoints, endpoint("host2", fmt.Sprint("m", i), "", []string{"many"}, a.String()))
	}
	s.write(t, n)
	s.start(t)
	first := map[string]int{}
	for range 200 { // that one never comes has a probability of 4 × 0.75^200
		r := says(t, s.c1, app4, "many A", "10.1.0.20 10.1.0.21 10.1.0.22 10.1.0.23")
		first[r.Answer[0].(*dns.A).A.String()]++
	}
	if len(first) != 4 {
		t.Errorf("first were %v", first)
	}
}

// TestLong: a long answer is cut over UDP, at the size that the asker takes, and whole over TCP.
func TestLong(t *testing.T) {
	s := newScene(t)
	n := appNetwork()
	for i, a := range numbered("10.7.%d.%d", 1200) {
		e := endpoint("host2", fmt.Sprint("m", i), "", []string{"most"})
		if i < 300 {
			e.Aliases = append(e.Aliases, "many")
		}
		e.Addrs = []netip.Addr{a}
		n.Endpoints = append(n.Endpoints, e)
	}
	s.write(t, n)
	s.start(t)
	for _, c := range []struct{ edns, most int }{{0, 512}, {100, 512}, {1000, 1000}, {4096, 1232}} {
		m := query("many A")
		if c.edns > 0 {
			m.SetEdns0(uint16(c.edns), true)
		}
		r := exchange(t, s.c1, "udp", app4, m)
		r.Compress = true
		if o := r.IsEdns0(); !r.Truncated || r.Len() > c.most || r.Len() < c.most/2 || (o != nil) != (c.edns > 0) || o != nil && !o.Do() {
			t.Errorf("with EDNS %d the reply has %d bytes: %v", c.edns, r.Len(), r.MsgHdr)
		}
	}
	for name, want := range map[string]int{"many A": 300, "most A": 1000} {
		r := exchange(t, s.c1, "tcp", app4, query(name))
		if r.Truncated || len(slices.Compact(strings.Fields(text(r)))) != want {
			t.Errorf("%s over TCP: %d addresses, %v", name, len(r.Answer), r.MsgHdr)
		}
	}
}

// TestPipeline: one connection carries several questions.
func TestPipeline(t *testing.T) {
	s := newScene(t).start(t)
	c := dial(t, s.c1, "tcp", app6)
	for i := range 20 {
		m := query([]string{"web A", "example.org A"}[i%2])
		if got, want := text(over(t, c, m)), []string{"10.1.0.2", "198.51.100.7"}[i%2]; got != want {
			t.Errorf("question %d: %s, want %s", i, got, want)
		}
	}
	// It is an endpoint's as long as that is there.
	n := appNetwork()
	n.Endpoints = n.Endpoints[1:]
	s.write(t, n)
	says(t, s.c2, app4, "both.app A", "10.1.0.3")
	s.gone(t, s.c2, "web")
	c.WriteMsg(query("both A"))
	if r, err := c.ReadMsg(); err == nil {
		t.Errorf("an endpoint that is gone is answered: %v", r)
	}
}

// TestOdd: packets that are no questions get an error, or nothing if they are replies.
func TestOdd(t *testing.T) {
	s := newScene(t).start(t)
	send := func(change func(*dns.Msg)) *dns.Msg {
		t.Helper()
		m := query("web A")
		change(m)
		c := dial(t, s.c1, "udp", app4)
		defer c.Close()
		// A question after it says when it has been read.
		if err := c.WriteMsg(m); err != nil {
			t.Fatal(err)
		}
		after := query("web AAAA")
		after.Id = m.Id + 1
		c.WriteMsg(after)
		r, err := c.ReadMsg()
		if err != nil {
			t.Fatal(err)
		}
		if r.Id == after.Id {
			return nil
		}
		return r
	}
	for what, c := range map[string]struct {
		change func(*dns.Msg)
		code   int
	}{
		"a transfer":         {func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeAXFR }, dns.RcodeRefused},
		"class CHAOS":        {func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }, dns.RcodeRefused},
		"an update":          {func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate }, dns.RcodeNotImplemented},
		"two questions":      {func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) }, dns.RcodeFormatError},
		"no question":        {func(m *dns.Msg) { m.Question = nil }, dns.RcodeFormatError},
		"a later EDNS":       {func(m *dns.Msg) { m.SetEdns0(1232, false).IsEdns0().SetVersion(1) }, dns.RcodeBadVers},
		"a question, at all": {func(*dns.Msg) {}, dns.RcodeSuccess},
	} {
		if r := send(c.change); r == nil || r.Rcode != c.code {
			t.Errorf("%s: %v", what, r)
		}
	}
	if r := send(func(m *dns.Msg) { m.Response = true }); r != nil {
		t.Errorf("a reply is replied to: %v", r)
	}
	for _, packet := range [][]byte{{}, {1}, make([]byte, 11), append([]byte{7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}, 0xc0, 0x0c, 0, 1, 0, 1)} {
		c := dial(t, s.c1, "udp", app4)
		c.Conn.Write(packet)
		if got := text(over(t, dial(t, s.c1, "udp", app4), query("web A"))); got != "10.1.0.2" {
			t.Errorf("after %x: %s", packet, got)
		}
	}
}

// TestSameGateway: networks may share their gateway's address, as routed ones do.
func TestSameGateway(t *testing.T) {
	s := newScene(t)
	second := names.Network{ID: "00000000000000c3", Name: "second", Listen: addrs(app4), Endpoints: []names.Endpoint{
		endpoint("", "stranger", "new", nil, "10.1.0.9")}}
	s.write(t, second)
	s.start(t)
	says(t, s.stranger, app4, "new A", "10.1.0.9")
	says(t, s.stranger, app4, "web A", "NXDOMAIN")
	says(t, s.c1, app4, "new A", "NXDOMAIN")
}
