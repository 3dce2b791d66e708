package resolver

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"github.com/miekg/dns"
)

// exchange asks one name server by TCP. It returns nil if there is no answer.
func exchange(ctx context.Context, server netip.AddrPort, m *dns.Msg) *dns.Msg {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", server.String())
	if err != nil {
		return nil
	}
	c := &dns.Conn{Conn: conn}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	asked := m.Copy()
	asked.Id = dns.Id()
	if c.WriteMsg(asked) != nil {
		return nil
	}
	for {
		r, err := c.ReadMsg()
		switch {
		case err != nil:
			return nil
		case r.Id == asked.Id && answers(r, asked.Question[0]):
			return r
		}
	}
}

// answers reports whether a message with the right ID is the reply to a question.
func answers(r *dns.Msg, q dns.Question) bool {
	if !r.Response || r.Opcode != dns.OpcodeQuery || len(r.Question) != 1 {
		return false
	}
	a := r.Question[0]
	return strings.EqualFold(a.Name, q.Name) && a.Qtype == q.Qtype && a.Qclass == q.Qclass
}
