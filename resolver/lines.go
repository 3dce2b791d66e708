package resolver

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
)

// lineCount is how many lines to a name server take questions at a time.
const lineCount = 16

// lines are the sockets by which name servers are asked over UDP.
type lines struct {
	countWrong func()
	mu         sync.Mutex
	of         map[netip.AddrPort]*[lineCount]*line
}

func newLines(countWrong func()) *lines {
	return &lines{countWrong: countWrong, of: map[netip.AddrPort]*[lineCount]*line{}}
}

// send asks a name server on a random line, and reports whether the packet was sent.
func (p *lines) send(a *ask, packet []byte) bool {
	l, err := p.take(a)
	return err == nil && l.send(a, packet)
}

// take finds a line for a question, or opens one.
func (p *lines) take(a *ask) (*line, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.of[a.by]
	if all == nil {
		all = new([lineCount]*line)
		p.of[a.by] = all
	}
	at := &all[rand.IntN(lineCount)]
	if *at != nil && (*at).take(a) {
		return *at, nil
	}
	l, err := newLine(a.by, p.countWrong)
	if err != nil {
		return nil, err
	}
	*at = l
	if !l.take(a) {
		return nil, net.ErrClosed // it has ended already
	}
	return l, nil
}

// close closes all lines.
func (p *lines) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, all := range p.of {
		for _, l := range all {
			if l != nil {
				l.close(false)
			}
		}
	}
}
