package program_test

import (
	"context"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/test/namespace"
	"github.com/heddle-network/heddle/test/poll"
)

// upstream is a name server with one name. It counts how often it is asked for the address.
type upstream struct{ asked atomic.Int64 }

func (u *upstream) ServeDNS(w dns.ResponseWriter, q *dns.Msg) {
	answer := new(dns.Msg).SetReply(q)
	if q.Question[0].Name != "crowd-web.net.heddle.internal." {
		answer.Rcode = dns.RcodeNameError
	} else if q.Question[0].Qtype == dns.TypeA {
		u.asked.Add(1)
		answer.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 60}, A: net.IPv4(10, 0, 0, 7)}}
	}
	w.WriteMsg(answer)
}

// startUnbound starts unbound in a namespace, beside whom it asks. It admits who comes from own.
func startUnbound(t *testing.T) (socket.Namespace, *upstream) {
	t.Helper()
	n, u, at := namespace.New(t), &upstream{}, netip.MustParseAddr("127.0.0.3")
	var listens *net.UDPConn
	if err := n.Do(func() (err error) {
		listens, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(at, 53)))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: listens, Handler: u}
	go server.ActivateAndServe()
	t.Cleanup(func() { server.Shutdown() })
	found, err := program.Find("unbound")
	if err != nil {
		t.Fatal(err)
	}
	runs, speaks, err := found.Prepare(program.Setting{Service: "dns", Host: "crowd-web.net.heddle.internal", Addrs: []netip.Addr{own}, Admits: []netip.Addr{own}, Upstreams: []netip.Addr{at}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := container.Start(n, runs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	r := running{n, c, speaks}
	if _, err := poll.Until(time.Minute, 5*time.Millisecond, r.answers); err != nil {
		t.Fatalf("%v: %s", err, c.Words())
	}
	return n, u
}

// asksFrom asks for a name over UDP or TCP, and returns the answer, or an error after a second.
func asksFrom(t *testing.T, n socket.Namespace, from netip.Addr, network, name string, kind uint16) (answer *dns.Msg, err error) {
	t.Helper()
	var c net.Conn
	failed := n.Do(func() (err error) { // the server is there: nothing waits
		d := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
		if network == "tcp" {
			d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))
		}
		c, err = d.DialContext(context.Background(), network, netip.AddrPortFrom(own, 53).String())
		return err
	})
	if failed != nil {
		t.Fatal(failed)
	}
	defer c.Close()
	client := dns.Client{Net: network, Timeout: time.Second}
	answer, _, err = client.ExchangeWithConn(new(dns.Msg).SetQuestion(name, kind), &dns.Conn{Conn: c})
	return answer, err
}

// TestUnbound: people are told what the network's name server says, which is asked once for each name; others are told nothing.
func TestUnbound(t *testing.T) {
	n, u := startUnbound(t)
	for range 3 {
		answer, err := asksFrom(t, n, own, "udp", "crowd-web.net.heddle.internal.", dns.TypeA)
		if err != nil || len(answer.Answer) != 1 || answer.Answer[0].(*dns.A).A.String() != "10.0.0.7" {
			t.Errorf("%v, %v", answer, err)
		}
		if answer, err := asksFrom(t, n, own, "udp", "crowd-web.net.heddle.internal.", dns.TypeAAAA); err != nil || answer.Rcode != dns.RcodeSuccess || len(answer.Answer) > 0 {
			t.Errorf("%v, %v", answer, err)
		}
		if answer, err := asksFrom(t, n, own, "tcp", "xcrowd-web.net.heddle.internal.", dns.TypeA); err != nil || answer.Rcode != dns.RcodeNameError {
			t.Errorf("%v, %v", answer, err)
		}
	}
	if asked := u.asked.Load(); asked != 1 { // when it was asked whether it is there
		t.Errorf("it has asked %d times", asked)
	}
	for _, network := range []string{"udp", "tcp"} {
		if answer, err := asksFrom(t, n, stranger, network, "crowd-web.net.heddle.internal.", dns.TypeA); err == nil {
			t.Errorf("a stranger is told over %s: %v", network, answer)
		}
	}
}

// TestUnboundMany: its file has room for whom it admits.
func TestUnboundMany(t *testing.T) {
	found, err := program.Find("unbound")
	if err != nil {
		t.Fatal(err)
	}
	var many []netip.Addr
	for i := range 40_000 {
		many = append(many, netip.AddrFrom16([16]byte{0xfd, 0x99, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, byte(i >> 8), byte(i)}))
	}
	runs, _, err := found.Prepare(program.Setting{Service: "dns", Addrs: []netip.Addr{own}, Admits: many, Upstreams: []netip.Addr{own}})
	if err != nil {
		t.Fatal(err)
	}
	var size counted
	for _, f := range runs.Files {
		if err := f.Write(&size); err != nil {
			t.Fatal(err)
		}
	}
	if int64(size) > runs.Size {
		t.Errorf("%d bytes, and there is room for %d", size, runs.Size)
	}
}

// counted is how many bytes were written.
type counted int64

func (c *counted) Write(b []byte) (int, error) {
	*c += counted(len(b))
	return len(b), nil
}

// TestUnboundAlone: without a name server to ask it is refused.
func TestUnboundAlone(t *testing.T) {
	found, err := program.Find("unbound")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := found.Prepare(program.Setting{Service: "dns", Addrs: []netip.Addr{own}}); err == nil {
		t.Error("it is not")
	}
}
