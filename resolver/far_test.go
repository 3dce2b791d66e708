package resolver_test

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// far is the name servers outside. By default they have an address for each name.
type far struct {
	netns  world.Netns
	mu     sync.Mutex
	handle func(w dns.ResponseWriter, q *dns.Msg)
	asked  []ask
}

// ask is a question that has come to a name server.
type ask struct {
	at      netip.Addr
	network string
	msg     *dns.Msg
}

func newFar(t testing.TB, p world.Netns) *far {
	f := &far{netns: p}
	for _, a := range []string{far4, other4, far6} {
		f.serve(t, a)
	}
	return f
}

// serve answers at an address of the namespace, by UDP and TCP.
func (f *far) serve(t testing.TB, addr string) {
	t.Helper()
	at := netip.AddrPortFrom(netip.MustParseAddr(addr), 53)
	cell.Must(t, f.netns.Do(func() error {
		udp, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		if err != nil {
			return err
		}
		tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
		if err != nil {
			return err
		}
		for _, s := range []*dns.Server{{PacketConn: udp}, {Listener: tcp}} {
			s.Handler = dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) { f.answer(at.Addr(), w, q) })
			ready := make(chan struct{})
			s.NotifyStartedFunc = func() { close(ready) }
			go s.ActivateAndServe()
			<-ready
			t.Cleanup(func() { s.Shutdown() })
		}
		return nil
	}))
}

func (f *far) answer(at netip.Addr, w dns.ResponseWriter, q *dns.Msg) {
	f.mu.Lock()
	f.asked = append(f.asked, ask{at, w.LocalAddr().Network(), q.Copy()})
	handle := f.handle
	f.mu.Unlock()
	if handle == nil {
		handle = func(w dns.ResponseWriter, q *dns.Msg) { w.WriteMsg(records(q, "A 198.51.100.7")) }
	}
	handle(w, q)
}

// does changes what the name servers do, and forgets what they were asked.
func (f *far) does(handle func(w dns.ResponseWriter, q *dns.Msg)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handle, f.asked = handle, nil
}

// silent is what name servers do that do not answer.
func silent(dns.ResponseWriter, *dns.Msg) {}

// seen returns what they were asked.
func (f *far) seen() []ask {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]ask(nil), f.asked...)
}

// at reports which name server a reply is written by.
func at(w dns.ResponseWriter) string {
	a, _ := netip.ParseAddrPort(w.LocalAddr().String())
	return a.Addr().Unmap().String()
}

// records makes a reply with records, written TYPE DATA.
func records(q *dns.Msg, all ...string) *dns.Msg {
	r := new(dns.Msg)
	r.SetReply(q)
	for _, text := range all {
		rr, err := dns.NewRR(fmt.Sprintf("%s 300 IN %s", q.Question[0].Name, text))
		if err != nil {
			panic(err)
		}
		r.Answer = append(r.Answer, rr)
	}
	return r
}
