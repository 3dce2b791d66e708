package protocol

import (
	"context"
	"fmt"
	"net"

	"github.com/miekg/dns"
)

// DNS is that of a name server, over TCP (RFC 7766). People ask over UDP by themselves: this is for who wants to know whether it answers.
type DNS struct {
	// Name is one that is there.
	Name string
}

// Network is TCP.
func (DNS) Network() string { return "tcp" }

// Port is where the server listens.
func (DNS) Port() uint16 { return 53 }

// Streams: one answer comes after the other.
func (DNS) Streams() bool { return false }

// Begin has nothing to do.
func (DNS) Begin(_ context.Context, c net.Conn) (net.Conn, error) { return c, nil }

// Ask asks for the name's addresses of IPv4. There may be none of that family.
func (d DNS) Ask(c net.Conn, _ Request) error {
	question := new(dns.Msg).SetQuestion(dns.Fqdn(d.Name), dns.TypeA)
	over := &dns.Conn{Conn: c}
	if err := over.WriteMsg(question); err != nil {
		return fmt.Errorf("ask for a name: %w", err)
	}
	answer, err := over.ReadMsg()
	if err == nil && answer.Rcode != dns.RcodeSuccess {
		err = fmt.Errorf("%s", dns.RcodeToString[answer.Rcode])
	}
	if err != nil {
		return fmt.Errorf("ask for a name: %w", err)
	}
	return nil
}
