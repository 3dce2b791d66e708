package ping

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle"
)

// server answers questions over pipes. It notes them as "network name type".
type server struct {
	records map[string]string // "name type" to an address, or to the name of an error
	asked   []string
	down    netip.Addr
}

func (s *server) dial(_ context.Context, network, address string) (net.Conn, error) {
	if s.down.IsValid() && strings.HasPrefix(address, s.down.String()) {
		return nil, &net.OpError{Op: "dial", Err: syscall.ENETUNREACH}
	}
	here, there := net.Pipe()
	go func() {
		c := dns.Conn{Conn: there}
		q, err := c.ReadMsg()
		if err != nil {
			return
		}
		key := q.Question[0].Name + " " + dns.TypeToString[q.Question[0].Qtype]
		s.asked = append(s.asked, network+" "+key)
		reply := new(dns.Msg).SetReply(q)
		switch value := s.records[key]; {
		case value == "":
			reply.Rcode = dns.RcodeNameError
		case value == "SERVFAIL":
			reply.Rcode = dns.RcodeServerFailure
		case value == "long" && network == "udp":
			reply.Truncated = true
		case value == "long":
			value = "10.0.0.99"
			fallthrough
		default:
			rr, _ := dns.NewRR(key + " " + value)
			reply.Answer = []dns.RR{rr}
		}
		c.WriteMsg(reply)
	}()
	return here, nil
}

// TestLookup: names are asked for as a container does.
func TestLookup(t *testing.T) {
	v4, v6 := heddle.IPv4, heddle.IPv6
	one, two := addr("10.0.0.1"), addr("10.0.0.2")
	for name, row := range map[string]struct {
		name     string
		families []heddle.Family
		down     netip.Addr
		want     string
		asked    []string
		fails    string
	}{
		"short":          {"web", []heddle.Family{v4, v6}, netip.Addr{}, "10.0.0.5", []string{"udp web.net.example. A"}, ""},
		"IPv6 first":     {"web", []heddle.Family{v6, v4}, netip.Addr{}, "fd00::5", []string{"udp web.net.example. AAAA"}, ""},
		"second family":  {"only6", []heddle.Family{v4, v6}, netip.Addr{}, "fd00::6", []string{"udp only6.net.example. A", "udp only6.net.example. AAAA"}, ""},
		"whole":          {"www.example.org", []heddle.Family{v4}, netip.Addr{}, "10.0.0.7", []string{"udp www.example.org. A"}, ""},
		"whole, dotted":  {"web.", []heddle.Family{v4}, netip.Addr{}, "", []string{"udp web. A"}, "no such name"},
		"too long":       {"long", []heddle.Family{v4}, netip.Addr{}, "10.0.0.99", []string{"udp long.net.example. A", "tcp long.net.example. A"}, ""},
		"second server":  {"web", []heddle.Family{v4}, one, "10.0.0.5", []string{"udp web.net.example. A"}, ""},
		"failing":        {"bad.example.org", []heddle.Family{v4}, netip.Addr{}, "", nil, "10.0.0.2 answered SERVFAIL"},
		"no name":        {"a b", []heddle.Family{v4}, netip.Addr{}, "", nil, "name"},
		"other's family": {"mapped", []heddle.Family{v6}, netip.Addr{}, "", nil, "no such name"},
	} {
		s := &server{down: row.down, records: map[string]string{"web.net.example. A": "10.0.0.5", "web.net.example. AAAA": "fd00::5", "only6.net.example. AAAA": "fd00::6",
			"www.example.org. A": "10.0.0.7", "long.net.example. A": "long", "bad.example.org. A": "SERVFAIL", "bad.example.org.net.example. A": "SERVFAIL", "mapped.net.example. AAAA": "::ffff:10.0.0.1"}}
		got, err := Resolver{Dial: s.dial, Servers: []netip.Addr{one, two}, Search: []string{"net.example"}}.Lookup(context.Background(), row.name, row.families)
		if row.fails != "" {
			if err == nil || !strings.Contains(err.Error(), row.fails) {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		} else if err != nil || got != addr(row.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if row.asked != nil && !slices.Equal(s.asked, row.asked) {
			t.Errorf("%s: asked was %q", name, s.asked)
		}
	}
	silent := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}
	}
	_, err := Resolver{Dial: silent, Servers: []netip.Addr{one}}.Lookup(context.Background(), "web", []heddle.Family{v4})
	if err == nil || !strings.Contains(err.Error(), "name server 10.0.0.1 gives no answer") {
		t.Errorf("from a server that is silent: %v", err)
	}
	_, err = Resolver{}.Lookup(context.Background(), "web", []heddle.Family{v4})
	if !errors.Is(err, heddle.NoName.Sentinel()) {
		t.Errorf("without a name server: %v", err)
	}
}
