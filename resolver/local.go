package resolver

import (
	"math/rand/v2"
	"net/netip"
	"strings"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/names"
)

// How long answers may be remembered, in seconds: that there is a name, and that there is none.
const ttl, negativeTTL = 2, 1

// maxAnswers bounds the addresses of one answer, chosen at random, to what a message holds.
const maxAnswers = 1000

// local answers what is known here, or known not to be anywhere. It returns nil for a question to
// the host's name servers.
func (q question) local() *dns.Msg {
	name := strings.TrimSuffix(q.Question[0].Name, ".")
	if addrs, found := q.asker.Lookup(name); found {
		return q.positive(addrs)
	}
	if r := q.service(name); r != nil {
		return r
	}
	if r := q.reverse(name); r != nil {
		return r
	}
	if below(name) || q.single() {
		return q.negative(dns.RcodeNameError)
	}
	return nil
}

func below(name string) bool {
	return strings.HasSuffix(strings.ToLower(name), "."+names.Domain)
}

// single reports whether the name has one label, and is not asked for as a top-level domain,
// which programs do that check signatures.
func (q question) single() bool {
	switch q.Question[0].Qtype {
	case dns.TypeDS, dns.TypeDNSKEY, dns.TypeNS, dns.TypeSOA:
		return false
	}
	return dns.CountLabel(q.Question[0].Name) == 1
}

// positive answers with the addresses of the family that is asked for, in random order.
func (q question) positive(addrs []netip.Addr) *dns.Msg {
	r := q.reply(dns.RcodeSuccess)
	r.Authoritative = true
	asked := q.Question[0]
	rand.Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	for _, a := range addrs {
		rr := address(asked.Name, a)
		if kind := rr.Header().Rrtype; asked.Qtype != kind && asked.Qtype != dns.TypeANY || len(r.Answer) == maxAnswers {
			continue
		}
		r.Answer = append(r.Answer, rr)
	}
	if len(r.Answer) == 0 {
		return q.negative(dns.RcodeSuccess)
	}
	return r
}

// address is the record of a name's address.
func address(name string, a netip.Addr) dns.RR {
	h := dns.RR_Header{Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: ttl}
	if a.Is4() {
		return &dns.A{Hdr: h, A: a.AsSlice()}
	}
	h.Rrtype = dns.TypeAAAA
	return &dns.AAAA{Hdr: h, AAAA: a.AsSlice()}
}

// negative answers that there is no such name, or that it has nothing of the type.
func (q question) negative(code int) *dns.Msg {
	r := q.reply(code)
	r.Authoritative = true
	zone := names.Domain + "."
	if name := q.Question[0].Name; !below(strings.TrimSuffix(name, ".")) && !strings.EqualFold(name, zone) {
		zone = "."
		if i, end := dns.NextLabel(name, 0); !end {
			zone = name[i:]
		}
	}
	r.Ns = []dns.RR{&dns.SOA{Hdr: dns.RR_Header{Name: zone, Rrtype: dns.TypeSOA, Class: dns.ClassINET, Ttl: negativeTTL},
		Ns: names.Domain + ".", Mbox: "hostmaster." + names.Domain + ".", Serial: 1, Refresh: 60, Retry: 60, Expire: 60, Minttl: negativeTTL}}
	return r
}

// reverse answers for the addresses of the asker's networks; nil for others.
func (q question) reverse(name string) *dns.Msg {
	prefix, more, ok := reversed(name)
	if !ok {
		return nil
	}
	var all []string
	if prefix.IsSingleIP() && !more {
		all = q.asker.Names(prefix.Addr())
	}
	switch {
	case len(all) == 0 && !q.asker.Holds(prefix):
		return nil
	case len(all) == 0 && (more || prefix.IsSingleIP()):
		return q.negative(dns.RcodeNameError)
	case len(all) == 0 || q.Question[0].Qtype != dns.TypePTR && q.Question[0].Qtype != dns.TypeANY:
		return q.negative(dns.RcodeSuccess)
	}
	r := q.reply(dns.RcodeSuccess)
	r.Authoritative = true
	for _, full := range all {
		h := dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypePTR, Class: dns.ClassINET, Ttl: ttl}
		r.Answer = append(r.Answer, &dns.PTR{Hdr: h, Ptr: full + "."})
	}
	return r
}
