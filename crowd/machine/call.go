package machine

import (
	"context"
	"net/netip"
)

// Call calls one of its users, or its service. It tells where that one hears, and what ends the call: this end has sent so many
// packets, and learns what the other end has sent and heard.
func (p *Peer) Call(ctx context.Context, r Ring) (at netip.AddrPort, bye func(ours Heard) (Heard, error), err error) {
	l, err := p.dial(ctx)
	if err != nil {
		return at, nil, err
	}
	a, err := l.ask(request{Ring: &r}, maxRequest)
	if err == nil && a.At == nil {
		err = errGone
	}
	if err != nil {
		p.group.drop(l.Conn)
		return at, nil, err
	}
	return *a.At, func(ours Heard) (Heard, error) {
		defer p.group.drop(l.Conn)
		a, err := l.ask(request{Bye: &ours}, maxRequest)
		if err == nil && a.Heard == nil {
			err = errGone
		}
		if err != nil {
			return Heard{}, err
		}
		return *a.Heard, nil
	}, nil
}
