package resolver_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// query makes a question, written NAME TYPE.
func query(text string) *dns.Msg {
	name, kind, _ := strings.Cut(text, " ")
	m := new(dns.Msg)
	return m.SetQuestion(dns.Fqdn(name), dns.StringToType[kind])
}

// dial connects a namespace with the resolver.
func dial(t testing.TB, from world.Netns, network, server string) *dns.Conn {
	t.Helper()
	at := netip.AddrPortFrom(netip.MustParseAddr(server), 53)
	c := &dns.Conn{UDPSize: dns.MaxMsgSize}
	cell.Must(t, from.Do(func() (err error) {
		if network == "tcp" {
			c.Conn, err = net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(at))
		} else {
			c.Conn, err = net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(at))
		}
		return err
	}))
	t.Cleanup(func() { c.Close() })
	return c
}

// exchange asks over UDP or TCP, and returns the reply.
func exchange(t testing.TB, from world.Netns, network, server string, m *dns.Msg) *dns.Msg {
	t.Helper()
	c := dial(t, from, network, server)
	defer c.Close()
	return over(t, c, m)
}

// askAgain asks as a stub does: over UDP it sends again what was not answered, since the processors drop
// packets of all namespaces when a flood of another test fills their backlog.
func askAgain(c *dns.Conn, m *dns.Msg) (r *dns.Msg, err error) {
	wait := patience
	if _, udp := c.Conn.(*net.UDPConn); udp {
		wait = 8 * time.Second // no less than an answer may take
	}
	for end := time.Now().Add(patience); ; {
		c.SetDeadline(time.Now().Add(wait))
		if err := c.WriteMsg(m); err != nil {
			return nil, err
		}
		r, err = c.ReadMsg()
		for err == nil && r.Id != m.Id { // the second answer to an earlier question
			r, err = c.ReadMsg()
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Now().After(end) {
			return r, err
		}
	}
}

func over(t testing.TB, c *dns.Conn, m *dns.Msg) *dns.Msg {
	t.Helper()
	r, err := askAgain(c, m)
	if err != nil {
		t.Fatalf("%v: %v", m.Question, err)
	}
	if r.Id != m.Id || !r.Response || !r.RecursionAvailable || len(r.Question) != 1 || r.Question[0] != m.Question[0] {
		t.Fatalf("%v is no reply to %v", r, m)
	}
	return r
}

// says asks, and compares the reply: its code, and its records in alphabetical order.
func says(t testing.TB, from world.Netns, server, question, want string) *dns.Msg {
	t.Helper()
	r := exchange(t, from, "udp", server, query(question))
	if got := text(r); got != want {
		t.Errorf("%s asks for %s: %s, want %s", from.Name, question, got, want)
	}
	return r
}

// text is a reply in short: its code if it is no success, and what its records say.
func text(r *dns.Msg) string {
	var all []string
	for _, rr := range r.Answer {
		all = append(all, strings.TrimPrefix(rr.String(), rr.Header().String()))
	}
	slices.Sort(all)
	if r.Rcode != dns.RcodeSuccess {
		all = append([]string{dns.RcodeToString[r.Rcode]}, all...)
	}
	return strings.Join(all, " ")
}

// silence asks for a name that is there, and fails if there is a reply.
func silence(t testing.TB, from world.Netns, server string) {
	t.Helper()
	c := dial(t, from, "udp", server)
	defer c.Close()
	c.SetDeadline(time.Now().Add(world.Refusal))
	cell.Must(t, c.WriteMsg(query("web A")))
	if r, err := c.ReadMsg(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s is answered at %s: %v, %v", from.Name, server, r, err)
	}
}

// cut asks over TCP, and fails if the connection is not closed without a reply.
func cut(t testing.TB, from world.Netns, server string) {
	t.Helper()
	c := dial(t, from, "tcp", server)
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	err := c.WriteMsg(query("web A"))
	if err == nil {
		_, err = c.ReadMsg()
	}
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection of %s to %s is not closed: %v", from.Name, server, err)
	}
}

// numbered are n addresses.
func numbered(format string, n int) (all []netip.Addr) {
	for i := range n {
		all = append(all, netip.MustParseAddr(fmt.Sprintf(format, i>>8, i&255)))
	}
	return all
}
