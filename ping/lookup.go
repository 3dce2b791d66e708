package ping

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle"
)

// answerTime is how long one name server may take for an answer, lookupTime all of them for a name in all its domains.
const answerTime, lookupTime = 2 * time.Second, 10 * time.Second

// Resolver asks name servers as a container would.
type Resolver struct {
	// Dial opens a connection from the container's namespace.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Servers are asked in this order, Search are the domains in which names without a dot are looked for.
	Servers []netip.Addr
	Search  []string
}

// Lookup returns an address of a name: of the first of the families for which there is one.
func (r Resolver) Lookup(ctx context.Context, name string, families []heddle.Family) (netip.Addr, error) {
	if len(r.Servers) == 0 {
		return netip.Addr{}, noName(name, "the container has no name server that the agent knows")
	}
	if _, valid := dns.IsDomainName(name); !valid || strings.ContainsAny(name, "/ \\") {
		return netip.Addr{}, heddle.Errorf(heddle.BadDNSName, "resolve", heddle.Clip(name), "", "give an IP address, an endpoint's ID (CONTAINER/IF) or a name")
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	why := "there is no such name"
	for _, full := range r.candidates(name) {
		for _, f := range families {
			a, err := r.ask(ctx, full, f)
			if a.IsValid() {
				return a, nil
			}
			if err != nil {
				why = err.Error()
			}
		}
	}
	return netip.Addr{}, noName(name, why)
}

func noName(name, why string) error {
	return heddle.Errorf(heddle.NoName, "resolve", heddle.Clip(name), why, "'heddle name list' shows the names of containers; an IP address or an endpoint's ID will do, too")
}

// candidates are the names to ask for: one without a dot first in the domains, as resolv.conf(5) has it (ndots:1).
func (r Resolver) candidates(name string) (all []string) {
	if strings.HasSuffix(name, ".") {
		return []string{name}
	}
	for _, domain := range r.Search {
		all = append(all, dns.Fqdn(name+"."+domain))
	}
	if own := dns.Fqdn(name); strings.Contains(name, ".") {
		return append([]string{own}, all...)
	}
	return append(all, dns.Fqdn(name))
}

// ask asks one server after the other, until one has answered.
func (r Resolver) ask(ctx context.Context, name string, f heddle.Family) (a netip.Addr, failed error) {
	kind := dns.TypeAAAA
	if f == heddle.IPv4 {
		kind = dns.TypeA
	}
	q := new(dns.Msg).SetQuestion(name, kind)
	q.SetEdns0(1232, false)
	for _, server := range r.Servers {
		reply, err := r.exchange(ctx, q, netip.AddrPortFrom(server, 53).String())
		switch {
		case os.IsTimeout(err):
			failed = fmt.Errorf("name server %s gives no answer", server)
		case err != nil:
			failed = fmt.Errorf("name server %s: %s", server, words(err))
		case reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError:
			failed = fmt.Errorf("name server %s answered %s", server, dns.RcodeToString[reply.Rcode])
		default:
			return addressOf(reply.Answer, f), nil
		}
	}
	return a, failed
}

// exchange asks by UDP, and by TCP for what is too long for that.
func (r Resolver) exchange(ctx context.Context, q *dns.Msg, server string) (reply *dns.Msg, err error) {
	for _, network := range []string{"udp", "tcp"} {
		if reply, err = r.over(ctx, network, q, server); err != nil || !reply.Truncated {
			break
		}
	}
	return reply, err
}

func (r Resolver) over(ctx context.Context, network string, q *dns.Msg, server string) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	conn, err := r.Dial(ctx, network, server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })()
	c := &dns.Conn{Conn: conn, UDPSize: dns.DefaultMsgSize}
	reply, _, err := (&dns.Client{Net: network, Timeout: answerTime}).ExchangeWithConnContext(ctx, q, c)
	return reply, err
}

// addressOf is the first address of the family in an answer.
func addressOf(answer []dns.RR, f heddle.Family) netip.Addr {
	for _, rr := range answer {
		var a netip.Addr
		switch rr := rr.(type) {
		case *dns.A:
			a, _ = netip.AddrFromSlice(rr.A.To4())
		case *dns.AAAA:
			a, _ = netip.AddrFromSlice(rr.AAAA.To16())
		}
		if f.Has(a) && !a.Is4In6() {
			return a
		}
	}
	return netip.Addr{}
}
