package play

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/tally"
)

// What a stub resolver does by default (resolv.conf(5)).
const (
	askTimeout  = 5 * time.Second
	askAttempts = 2
)

// query is the name under which questions for names are counted, beside the actions of people.
const query = "dns.query"

// find is the address of a service. A session asks for a name once, and keeps the answer. Where nobody answers
// questions, the address is known.
func (s *session) find(ctx context.Context, name string) (netip.Addr, error) {
	seat, there := s.Services[name]
	if !there {
		return netip.Addr{}, fmt.Errorf("there is no service %s", name)
	}
	want := s.address(seat)
	if !s.asks(seat) {
		return want, nil
	}
	if known, is := s.found[name]; is {
		return known, nil
	}
	kind := dns.TypeAAAA
	if want.Is4() {
		kind = dns.TypeA
	}
	answer, err := s.ask(ctx, seat.Name, kind)
	if err != nil {
		return netip.Addr{}, err
	}
	for _, r := range answer.Answer {
		var ip net.IP
		switch r := r.(type) {
		case *dns.A:
			ip = r.A
		case *dns.AAAA:
			ip = r.AAAA
		}
		if a, is := netip.AddrFromSlice(ip); is {
			s.found[name] = a.Unmap()
			return a.Unmap(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("ask for a name: %s", dns.RcodeToString[answer.Rcode])
}

// asks reports whether the user asks for the name of a service.
func (s *session) asks(service Seat) bool { return len(s.seat.Resolvers) > 0 && service.Name != "" }

// mistype asks for a name that is not there, as a person who mistypes does.
func (s *session) mistype(ctx context.Context, of scenario.Action) error {
	seat := s.Services[of.Service()]
	if !s.asks(seat) {
		return nil
	}
	answer, err := s.ask(ctx, "x"+seat.Name, dns.TypeA)
	if err == nil && answer.Rcode != dns.RcodeNameError {
		err = fmt.Errorf("ask for a name that is not there: %s", dns.RcodeToString[answer.Rcode])
	}
	return err
}

// ask asks one of the user's resolvers, and counts the question.
func (s *session) ask(ctx context.Context, name string, kind uint16) (answer *dns.Msg, err error) {
	begun := time.Now()
	defer func() {
		took, outcome := time.Since(begun), tally.Achieved
		if ctx.Err() != nil {
			outcome = tally.Unfinished
		} else if err != nil {
			outcome = tally.Failed
		}
		s.Tally.Step(query, outcome, took, took)
	}()
	at := s.seat.Resolvers[(s.User+s.Number)%len(s.seat.Resolvers)]
	c, err := s.seat.Namespace.DialUDP(netip.AddrPortFrom(at, 53))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer s.opened(query, "udp", c.LocalAddr().(*net.UDPAddr).AddrPort(), netip.AddrPortFrom(at, 53))()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	question := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	client := dns.Client{Timeout: askTimeout}
	for range askAttempts {
		if answer, _, err = client.ExchangeWithConn(question, &dns.Conn{Conn: c}); err == nil || ctx.Err() != nil {
			break
		}
	}
	switch {
	case err != nil && ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded): // which is not the person's patience
		err = errors.New("ask for a name: no answer")
	case err == nil && answer.Rcode != dns.RcodeSuccess && answer.Rcode != dns.RcodeNameError:
		err = fmt.Errorf("ask for a name: %s", dns.RcodeToString[answer.Rcode])
	}
	return answer, err
}
