package play

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// nameServer answers in the seat's namespace: web.test has the loopback addresses, mute.test gets no answer, and
// nothing else is there.
func nameServer(t *testing.T, at Seat) {
	t.Helper()
	for _, a := range at.Addrs {
		var c *net.UDPConn
		if err := at.Namespace.Do(func() (err error) {
			c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, 53)))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		server := &dns.Server{PacketConn: c, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
			r, asked := new(dns.Msg).SetReply(q), q.Question[0]
			head := dns.RR_Header{Name: asked.Name, Rrtype: asked.Qtype, Class: dns.ClassINET}
			switch {
			case strings.HasPrefix(asked.Name, "mute."):
				return
			case asked.Name != "web.test.":
				r.Rcode = dns.RcodeNameError
			case asked.Qtype == dns.TypeA:
				r.Answer = []dns.RR{&dns.A{Hdr: head, A: net.IPv4(127, 0, 0, 1)}}
			case asked.Qtype == dns.TypeAAAA:
				r.Answer = []dns.RR{&dns.AAAA{Hdr: head, AAAA: net.IPv6loopback}}
			}
			w.WriteMsg(r)
		})}
		go server.ActivateAndServe()
		t.Cleanup(func() { server.Shutdown() })
	}
}

// TestNames: a session asks for a service's name once, a mistyped name is not there, and who gets no answer fails or
// gives up.
func TestNames(t *testing.T) {
	users, services := seats(t, 8, "web", "chat", "files")
	nameServer(t, users[0])
	for name, full := range map[string]string{"web": "web.test", "chat": "gone.test", "files": "mute.test"} {
		seat := services[name]
		seat.Name = full
		if name == "web" {
			seat.Addrs = []netip.Addr{netip.MustParseAddr("127.0.0.9"), netip.MustParseAddr("::9")} // the name knows better
		}
		services[name] = seat
	}
	for i := range users {
		users[i].Resolvers = users[i].Addrs
	}
	r, _ := played(t, `
crowd: askers
users: 8
clock: {start: "Mon 09:00", length: 2s}
services: {chat: {sites: 1}}
personas:
  one: {share: 100%, does: {read: 40/m, write: 20/m, get: 20/m}}
behaviours:
  read:
    start: page
    states:
      page: {do: web.page, sends: 300B, receives: 10KB, expect: 5ms, mistakes: {name: {chance: 50%, again: 10ms}}, next: {more: 1}}
      more: {do: web.page, sends: 300B, receives: 10KB, expect: 5ms, next: {end: 1}}
  write: {start: connect, states: {connect: {do: chat.connect, sends: 100B, receives: 100B, expect: 5ms, next: {end: 1}}}}
  get: {start: file, patience: 300ms, states: {file: {do: files.get, sends: 100B, receives: 100B, expect: 5ms, next: {end: 1}}}}
`, users, services, 20*time.Second)
	read, write, get := r.Behaviours["read"], r.Behaviours["write"], r.Behaviours["get"]
	if read.Started < 4 || read.Achieved != read.Started {
		t.Errorf("read: %+v, %+v", read, r.Failures)
	}
	if write.Started == 0 || write.Failed != write.Started || len(r.Failures) != 1 || r.Failures[0].Why != "chat.connect: NXDOMAIN" {
		t.Errorf("write: %+v, %+v", write, r.Failures)
	}
	if get.Started == 0 || get.GivenUp != get.Started {
		t.Errorf("get: %+v", get)
	}
	typos, asked := r.Actions["mistake.name"].Count, r.Actions[query]
	if typos < 1 || r.Actions["web.page"].Count != 2*read.Started || asked.Count != read.Started+typos+write.Started+get.Started || asked.Unfinished != get.Started || asked.Planned.P50 <= 0 {
		t.Errorf("%d mistyped: %+v", typos, asked)
	}
}
