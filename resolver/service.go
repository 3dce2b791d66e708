package resolver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"

	"github.com/miekg/dns"
)

// maxTargets bounds the containers of one answer, chosen at random. Each has a name and addresses.
const maxTargets = 200

// service answers for _SERVICE._PROTOCOL.NAME (RFC 2782): the containers of that name that have
// published the service's port, with their addresses. It returns nil for what is no service of a
// container.
func (q question) service(name string) *dns.Msg {
	part := strings.SplitN(name, ".", 3)
	if len(part) < 3 || !strings.HasPrefix(part[0], "_") {
		return nil
	}
	protocol := strings.ToLower(strings.TrimPrefix(part[1], "_"))
	if part[1][:min(len(part[1]), 1)] != "_" || protocol != "tcp" && protocol != "udp" && protocol != "sctp" {
		return nil
	}
	number := portOf(protocol, strings.ToLower(part[0][1:]))
	targets, found := q.asker.Targets(part[2], fmt.Sprintf("%d/%s", number, protocol))
	switch {
	case !found:
		return nil
	case len(targets) == 0:
		return q.negative(dns.RcodeNameError)
	case q.Question[0].Qtype != dns.TypeSRV && q.Question[0].Qtype != dns.TypeANY:
		return q.negative(dns.RcodeSuccess)
	}
	r := q.reply(dns.RcodeSuccess)
	r.Authoritative = true
	rand.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	for _, t := range targets[:min(len(targets), maxTargets)] {
		h := dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeSRV, Class: dns.ClassINET, Ttl: ttl}
		r.Answer = append(r.Answer, &dns.SRV{Hdr: h, Port: number, Target: t.Name + "."})
		for _, a := range t.Addrs {
			r.Extra = append(r.Extra, address(t.Name+".", a))
		}
	}
	return r
}

// portOf is the port of a service, which is a number or a name that services(5) has; 0 if there is
// none. Nobody outside is asked.
func portOf(protocol, service string) uint16 {
	n, err := net.DefaultResolver.LookupPort(context.Background(), protocol, service)
	if err != nil {
		return 0
	}
	return uint16(n)
}
