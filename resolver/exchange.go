package resolver

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

// exchange asks one name server: by UDP, and by TCP if the reply is cut short or the asker came by
// TCP. It returns nil if there is no answer.
func exchange(ctx context.Context, server netip.AddrPort, q question) *dns.Msg {
	if q.tcp {
		return exchangeBy(ctx, "tcp", server, q.Msg)
	}
	r := exchangeBy(ctx, "udp", server, q.Msg)
	if r != nil && r.Truncated {
		if whole := exchangeBy(ctx, "tcp", server, q.Msg); whole != nil {
			return whole
		}
	}
	return r
}

// exchangeBy has a connection, and so a random port, of its own. The kernel gives it packets of the
// server alone; those that do not answer the question are passed over.
func exchangeBy(ctx context.Context, network string, server netip.AddrPort, m *dns.Msg) *dns.Msg {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, server.String())
	if err != nil {
		return nil
	}
	c := &dns.Conn{Conn: conn, UDPSize: maxQuery}
	defer c.Close()
	end, _ := ctx.Deadline()
	c.SetDeadline(end)
	defer context.AfterFunc(ctx, func() { c.Close() })()
	asked := m.Copy()
	asked.Id = dns.Id()
	if c.WriteMsg(asked) != nil {
		return nil
	}
	for {
		r, err := c.ReadMsg()
		switch {
		case r == nil || err != nil && network == "tcp":
			return nil
		case answers(r, asked) && (err == nil || r.Truncated):
			return r
		}
	}
}

func answers(r, asked *dns.Msg) bool {
	if !r.Response || r.Opcode != asked.Opcode || r.Id != asked.Id || len(r.Question) != 1 {
		return false
	}
	a, b := r.Question[0], asked.Question[0]
	return strings.EqualFold(a.Name, b.Name) && a.Qtype == b.Qtype && a.Qclass == b.Qclass
}

// forwardable is the question as name servers are asked: with what they have to know, and without
// what is between the asker and us.
func forwardable(q question) question {
	m := &dns.Msg{MsgHdr: dns.MsgHdr{RecursionDesired: q.RecursionDesired, AuthenticatedData: q.AuthenticatedData,
		CheckingDisabled: q.CheckingDisabled}, Question: q.Question}
	if o := q.IsEdns0(); o != nil {
		m.Extra = []dns.RR{passed(o, min(max(o.UDPSize(), minUDP), maxUDP))}
	}
	return question{m, q.asker, q.tcp}
}

// returnable is a name server's reply as the asker gets it.
func returnable(q question, r *dns.Msg) *dns.Msg {
	o := r.IsEdns0()
	var extra []dns.RR
	for _, rr := range r.Extra {
		if kind := rr.Header().Rrtype; kind != dns.TypeOPT && kind != dns.TypeTSIG {
			extra = append(extra, rr)
		}
	}
	if o != nil && q.IsEdns0() != nil {
		extra = append(extra, passed(o, maxUDP))
	}
	r.Id, r.Opcode, r.Extra, r.Question = q.Id, q.Opcode, extra, q.Question
	r.RecursionDesired, r.RecursionAvailable, r.Authoritative = q.RecursionDesired, true, false
	return r
}

// passed is what is passed on of EDNS: all but what is between two neighbours (cookies, time-outs
// of connections, padding).
func passed(o *dns.OPT, size uint16) *dns.OPT {
	p := &dns.OPT{Hdr: o.Hdr}
	p.SetUDPSize(size)
	for _, option := range o.Option {
		switch option.Option() {
		case dns.EDNS0COOKIE, dns.EDNS0TCPKEEPALIVE, dns.EDNS0PADDING:
		default:
			p.Option = append(p.Option, option)
		}
	}
	return p
}
