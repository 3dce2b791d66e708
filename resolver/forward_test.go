package resolver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/resolver/process"
	"github.com/heddle-network/heddle/test/cell"
)

// TestForwarded: all other names are those of the host's name servers.
func TestForwarded(t *testing.T) {
	s := newScene(t).start(t)
	says(t, s.c1, app4, "example.org A", "198.51.100.7")
	says(t, s.c1, app6, "example.org A", "198.51.100.7")
	says(t, s.c1, app4, "web.example A", "198.51.100.7")
	s.far.does(func(w dns.ResponseWriter, q *dns.Msg) {
		r := records(q)
		r.Rcode = dns.RcodeNameError
		w.WriteMsg(r)
	})
	says(t, s.c1, app4, "example.org A", "NXDOMAIN")
	s.upstreams(t, far6)
	s.far.does(func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(records(q, `TXT "`+at(w)+`"`, "A 198.51.100.6")) })
	s.says(t, "the name server is told", func(st process.Status) bool { return len(st.Upstreams) == 1 && st.Upstreams[0].Addr().Is6() })
	says(t, s.c1, app4, "example.org A", `"2001:db8::2" 198.51.100.6`)
}

// TestNeverForwarded: what is ours alone is not asked for outside.
func TestNeverForwarded(t *testing.T) {
	s := newScene(t).start(t)
	for _, question := range []string{"x.heddle.internal A", "a.b.c.heddle.internal SRV", "printer A", "printer AAAA", "wpad TXT", "7.0.1.10.in-addr.arpa PTR",
		"_x._tcp.web.app.heddle.internal SRV"} {
		says(t, s.c1, app4, question, "NXDOMAIN")
	}
	says(t, s.c1, app4, "web MX", "")
	if seen := s.far.seen(); len(seen) > 0 {
		t.Errorf("outside was asked for %v", seen[0].msg.Question)
	}
	// Programs that check signatures ask for top-level domains.
	s.far.does(func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(records(q, "NS a.root.example.")) })
	says(t, s.c1, app4, "org NS", "a.root.example.")
	says(t, s.c1, app4, ". NS", "a.root.example.")
}

// TestTransport: questions that came by TCP, and those whose reply is cut, go out by TCP.
func TestTransport(t *testing.T) {
	s := newScene(t).start(t)
	big := func(w dns.ResponseWriter, q *dns.Msg) {
		r := records(q)
		for i := range 100 {
			r.Answer = append(r.Answer, records(q, fmt.Sprintf("A 198.51.100.%d", i)).Answer...)
		}
		if w.LocalAddr().Network() == "udp" {
			r.Truncate(dns.MinMsgSize)
		}
		w.WriteMsg(r)
	}
	s.far.does(big)
	r := exchange(t, s.c1, "udp", app4, query("big.example A"))
	if r.Compress = true; !r.Truncated || r.Len() > dns.MinMsgSize {
		t.Errorf("the reply over UDP has %d bytes: %v", r.Len(), r.MsgHdr)
	}
	m := query("big.example A")
	m.SetEdns0(4096, false)
	if r := exchange(t, s.c1, "udp", app4, m); !r.Truncated || len(r.Answer) < 50 {
		t.Errorf("the reply over UDP with EDNS has %d records: %v", len(r.Answer), r.MsgHdr)
	}
	// On a busy machine a question goes to a second server, too.
	if got := networks(s); !strings.HasPrefix(got, "udp") || strings.Count(got, "udp") < 2 || strings.Count(got, "tcp") < 2 {
		t.Errorf("asked was over %s", got)
	}
	s.far.does(big)
	if r := exchange(t, s.c1, "tcp", app4, query("big.example A")); r.Truncated || len(r.Answer) != 100 {
		t.Errorf("the reply over TCP has %d records: %v", len(r.Answer), r.MsgHdr)
	}
	if got := networks(s); !strings.HasPrefix(got, "tcp") || strings.Contains(got, "udp") {
		t.Errorf("asked was over %s", got)
	}
}

func networks(s *scene) string {
	var all []string
	for _, a := range s.far.seen() {
		all = append(all, a.network)
	}
	return strings.Join(all, " ")
}

// TestEDNS: what a name server has to know of the asker is passed on, both ways.
func TestEDNS(t *testing.T) {
	s := newScene(t).start(t)
	s.far.does(func(w dns.ResponseWriter, q *dns.Msg) {
		r := records(q, "A 198.51.100.7")
		if o := q.IsEdns0(); o != nil {
			r.SetEdns0(4096, o.Do())
			r.IsEdns0().Option = append(o.Option, &dns.EDNS0_EDE{InfoCode: dns.ExtendedErrorCodeOther, ExtraText: "hello"})
			r.AuthenticatedData = true
		}
		w.WriteMsg(r)
	})
	m := query("example.org A")
	m.CheckingDisabled = true
	m.SetEdns0(4096, true)
	m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_NSID{Code: dns.EDNS0NSID}, &dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: "0011223344556677"}}
	r := exchange(t, s.c1, "udp", app4, m)
	if o := r.IsEdns0(); o == nil || !o.Do() || o.UDPSize() != 1232 || len(o.Option) != 2 || !r.AuthenticatedData {
		t.Errorf("the reply is %v", r)
	}
	got := s.far.seen()[0].msg
	if o := got.IsEdns0(); o == nil || !o.Do() || o.UDPSize() != 1232 || len(o.Option) != 1 || o.Option[0].Option() != dns.EDNS0NSID || !got.CheckingDisabled || !got.RecursionDesired {
		t.Errorf("asked was %v", got)
	}
	if r := exchange(t, s.c1, "udp", app4, query("example.org A")); r.IsEdns0() != nil || s.far.seen()[1].msg.IsEdns0() != nil {
		t.Errorf("without EDNS the reply is %v", r)
	}
}

// TestRefusing: the next name server is asked at once if one cannot be, and if none can, that is
// said at once.
func TestRefusing(t *testing.T) {
	s := newScene(t).start(t)
	// Nobody listens there, which the kernel says as often as it is asked.
	s.away.Sh(t, "sysctl -qw net.ipv4.icmp_ratelimit=0 && ip addr add 192.0.2.4/24 dev eth0")
	s.upstreams(t, "192.0.2.4", "198.51.100.99", far4) // nor is there a route
	s.becomes(t, s.c1, "example.org", "198.51.100.7")
	s.upstreams(t, "192.0.2.4", "198.51.100.99")
	s.becomes(t, s.c1, "example.org", "SERVFAIL")
	begin := time.Now()
	for range 20 {
		says(t, s.c1, app4, "example.org A", "SERVFAIL")
	}
	if took := time.Since(begin); took > 30*time.Second { // if they waited: 80
		t.Errorf("20 answers took %v", took)
	}
	s.upstreams(t)
	says(t, s.c1, app4, "example.org A", "SERVFAIL")

	// One that says that it cannot is passed over, too, and believed if nobody knows better.
	s.upstreams(t, other4, far4)
	s.far.does(func(w dns.ResponseWriter, q *dns.Msg) {
		r := records(q, "A 198.51.100.8")
		if at(w) == other4 {
			r.Rcode, r.Answer = dns.RcodeRefused, nil
		}
		w.WriteMsg(r)
	})
	s.becomes(t, s.c1, "example.org", "198.51.100.8")
	s.upstreams(t, other4)
	s.becomes(t, s.c1, "example.org", "REFUSED")
}

// TestSilent: all name servers together have four seconds.
func TestSilent(t *testing.T) {
	s := newScene(t)
	s.upstreams(t, other4, far4)
	s.start(t)
	s.far.does(silent)
	begin := time.Now()
	says(t, s.c1, app4, "example.org A", "SERVFAIL")
	if took := time.Since(begin); took < 3500*time.Millisecond || took > 20*time.Second {
		t.Errorf("the failure is told after %v", took)
	}
	if n := len(s.far.seen()); n < 3 {
		t.Errorf("name servers were asked %d times", n)
	}
	// One that answers is heard, and the silent one comes last from then on.
	s.far.does(func(w dns.ResponseWriter, q *dns.Msg) {
		if at(w) == far4 {
			w.WriteMsg(records(q, "A 198.51.100.9"))
		}
	})
	for range 5 {
		says(t, s.c1, app4, "example.org A", "198.51.100.9")
	}
	asked := 0
	for _, a := range s.far.seen() {
		if a.at.String() == other4 {
			asked++
		}
	}
	if asked != 1 {
		t.Errorf("the silent name server was asked %d times", asked)
	}
	// Its first reply may be lost.
	var lost atomic.Bool
	s.upstreams(t, far4)
	s.far.does(func(w dns.ResponseWriter, q *dns.Msg) {
		if lost.Swap(true) {
			w.WriteMsg(records(q, "A 198.51.100.10"))
		}
	})
	says(t, s.c1, app4, "example.org A", "198.51.100.10")
}

// TestForged: only a reply to the question counts, from whom was asked. Questions have random ports
// and IDs, and come by TCP where a port has got many forged replies.
func TestForged(t *testing.T) {
	s := newScene(t).start(t)
	s.upstreams(t, other4)
	var mu sync.Mutex
	ports, ids := map[string]bool{}, map[uint16]bool{}
	s.far.does(func(w dns.ResponseWriter, q *dns.Msg) {
		to, udp := w.RemoteAddr().(*net.UDPAddr)
		if !udp {
			w.WriteMsg(records(q, "A 198.51.100.7"))
			return
		}
		mu.Lock()
		ports[to.String()], ids[q.Id] = true, true
		mu.Unlock()
		for _, change := range []func(*dns.Msg){
			func(r *dns.Msg) { r.Id++ },
			func(r *dns.Msg) { r.Response = false },
			func(r *dns.Msg) { r.Question[0].Name = "example.net." },
			func(r *dns.Msg) { r.Question[0].Qtype = dns.TypeAAAA },
			func(r *dns.Msg) { r.Question = nil },
		} {
			r := records(q.Copy(), "A 203.0.113.66")
			change(r)
			w.WriteMsg(r)
		}
		w.Write([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17})
		s.forge(t, to, records(q, "A 203.0.113.66"))
		w.WriteMsg(records(q, "A 198.51.100.7"))
	})
	for range 20 {
		says(t, s.c1, app4, "example.org A", "198.51.100.7")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(ports) < 5 || len(ids) < 15 { // of 16 ports at a time, and of 20 IDs, at random
		t.Errorf("there were %d ports and %d IDs", len(ports), len(ids))
	}
	s.says(t, "wrong answers are counted", func(st process.Status) bool { return st.Counts.Wrong >= 3*20 })
}

// forge sends a reply from another name server's address.
func (s *scene) forge(t testing.TB, to *net.UDPAddr, r *dns.Msg) {
	text, err := r.Pack()
	if err == nil {
		err = s.away.Do(func() error {
			c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(far4), 0)), to)
			if err != nil {
				return err
			}
			defer c.Close()
			_, err = c.Write(text)
			return err
		})
	}
	if err != nil {
		t.Error(err)
	}
}

// TestInternal: containers without a way out ask nobody outside.
func TestInternal(t *testing.T) {
	s := newScene(t).start(t)
	says(t, s.c3, back4, "example.org A", "REFUSED")
	says(t, s.c3, back4, "store A", "10.2.0.4")
	if seen := s.far.seen(); len(seen) > 0 {
		t.Errorf("outside was asked for %v", seen[0].msg.Question)
	}
	s.denies(t, "c3", func(d process.Denied) bool { return d == process.Denied{Container: "c3", NoWayOut: 1} })
	says(t, s.c2, back4, "example.org A", "198.51.100.7") // it is on another network, too
}

// TestRebinding: nobody outside has a name for what is ours.
func TestRebinding(t *testing.T) {
	s := newScene(t).start(t)
	for _, c := range []struct{ record, want string }{
		{"A 127.0.0.1", "SERVFAIL"}, {"A 127.9.9.9", "SERVFAIL"}, {"AAAA ::1", "SERVFAIL"}, {"AAAA ::ffff:127.0.0.1", "SERVFAIL"},
		{"A 10.1.0.77", "SERVFAIL"}, {"A 10.1.0.1", "SERVFAIL"}, {"AAAA fd01::77", "SERVFAIL"}, {"A 10.2.0.4", "SERVFAIL"},
		{"AAAA ::ffff:10.2.0.4", "SERVFAIL"}, {`HTTPS 1 . ipv4hint="10.2.0.4"`, "SERVFAIL"}, {`HTTPS 1 . ipv6hint="fd01::7"`, "SERVFAIL"},
		{"A 10.3.0.1", "10.3.0.1"}, {"A 0.0.0.0", "0.0.0.0"}, {"AAAA fd02::1", "fd02::1"},
	} {
		kind, _, _ := strings.Cut(c.record, " ")
		for _, all := range [][]string{{c.record}, {"TXT x", c.record}} {
			s.far.does(func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(records(q, all...)) })
			r := exchange(t, s.c1, "udp", app4, query("evil.example "+kind))
			if got := text(r); !strings.HasSuffix(got, c.want) || c.want == "SERVFAIL" && len(r.Answer) > 0 {
				t.Errorf("with %q: %s, want %s", all, got, c.want)
			}
		}
	}
}

// TestLoop: neither our own addresses nor the asker itself are asked.
func TestLoop(t *testing.T) {
	s := newScene(t)
	s.far.netns = s.c2
	s.far.serve(t, "10.1.0.3") // a name server in a container, which may ask us
	s.upstreams(t, app4, back4, app6, "10.1.0.3")
	s.start(t)
	s.far.does(func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(records(q, "A 198.51.100.3")) })
	says(t, s.c1, app4, "example.org A", "198.51.100.3")
	says(t, s.c2, app4, "example.org A", "SERVFAIL")
	if n := len(s.far.seen()); n != 1 {
		t.Errorf("the container was asked %d times", n)
	}
	s.says(t, "two questions are forwarded", func(st process.Status) bool { return st.Counts.Forwarded == 2 && st.Counts.Failed == 1 })
}

// TestStub: instead of name servers on the loopback interface, those are asked that they ask.
func TestStub(t *testing.T) {
	s := newScene(t)
	s.upstreams(t, "127.0.0.53", "::1")
	stub := &far{}
	stub.does(func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(records(q, "A 198.51.100.53")) })
	stub.serve(t, "127.0.0.53")
	s.start(t)
	says(t, s.c1, app4, "example.org A", "198.51.100.53")
	writeServers(t, s.uplink, far4)
	s.becomes(t, s.c1, "example.org", "198.51.100.7")
	writeServers(t, s.uplink, "127.0.0.54")
	s.becomes(t, s.c1, "example.org", "198.51.100.53")
	writeServers(t, s.uplink, far4)
	s.becomes(t, s.c1, "example.org", "198.51.100.7")
	proxy := &far{} // systemd-resolved, which knows the domains of links, and does not know far4's names
	proxy.does(func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(records(q, "A 198.51.100.54")) })
	proxy.serve(t, "127.0.0.54")
	s.becomes(t, s.c1, "example.org", "198.51.100.54")
	proxy.does(func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(q, dns.RcodeRefused)) })
	s.becomes(t, s.c1, "example.org", "198.51.100.7")
	s.upstreams(t, "127.0.0.53", other4) // not on the loopback interface alone
	s.says(t, "both are told", func(st process.Status) bool {
		var all []string
		for _, u := range st.Upstreams {
			all = append(all, u.String())
		}
		return slices.Equal(all, []string{"127.0.0.53:53", other4 + ":53"})
	})
}

// TestDomains: the names of a domain are asked of its own name servers, and of no others.
func TestDomains(t *testing.T) {
	s := newScene(t)
	forwards := func(all ...names.Forward) {
		text, err := json.Marshal(all)
		path := filepath.Join(s.dir, names.ForwardFile)
		cell.Must(t, errors.Join(err, os.WriteFile(path+".new", text, 0o600), os.Rename(path+".new", path)))
	}
	of := func(domain, server string) names.Forward {
		return names.Forward{Domain: domain, Servers: []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr(server), 53)}}
	}
	forwards(of("corp.example", other4), of("lost.corp.example", "192.0.2.4"), of("2.10.in-addr.arpa", other4), of("heddle.internal", other4))
	s.far.does(func(w dns.ResponseWriter, q *dns.Msg) {
		text := map[string]string{far4: "198.51.100.2", other4: "198.51.100.3"}[at(w)]
		if q.Question[0].Qtype == dns.TypePTR {
			w.WriteMsg(records(q, "PTR "+strings.ReplaceAll(text, ".", "-")+"."))
			return
		}
		w.WriteMsg(records(q, "A "+text))
	})
	s.start(t)
	says(t, s.c1, app4, "db.Corp.example A", "198.51.100.3")
	says(t, s.c1, app4, "corp.example A", "198.51.100.3")
	says(t, s.c1, app4, "db.xcorp.example A", "198.51.100.2")
	says(t, s.c1, app4, "web A", "10.1.0.2")
	says(t, s.c1, app4, "none.heddle.internal A", "NXDOMAIN")
	says(t, s.c1, app4, "5.5.2.10.in-addr.arpa PTR", "198-51-100-3.") // a network that it is not on
	s.says(t, "the domains are told", func(st process.Status) bool { return len(st.Forwards) == 4 })
	begin := time.Now()
	says(t, s.c1, app4, "db.lost.corp.example A", "SERVFAIL")
	t.Logf("a domain whose name server is away fails after %s", time.Since(begin))
	forwards()
	s.becomes(t, s.c1, "db.corp.example", "198.51.100.2")
}
