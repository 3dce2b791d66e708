package resolver

import (
	"net/netip"
	"slices"

	"github.com/miekg/dns"
)

// forward asks the host's name servers. If none has an answer, the reply says so.
func (s *server) forward(q question, done func(*dns.Msg)) {
	table := s.table.Load()
	servers := s.upstreams.ordered(q.Question[0].Name, func(a netip.Addr) bool { // who would ask us again
		return slices.Contains(table.Listens(), a) || slices.Contains(q.asker.Addrs, a)
	})
	s.askAll(servers, forwardable(q), func(reply *dns.Msg) {
		if reply == nil || points(reply, table) {
			s.counts.failed.Add(1)
			done(q.reply(dns.RcodeServerFailure))
			return
		}
		done(returnable(q, reply))
	})
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
