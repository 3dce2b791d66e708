package resolver

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// How long all name servers together may take, and after which time another one is asked, too.
const forwardTime, againTime = 4 * time.Second, time.Second

// asking is a question on its way to name servers: by UDP, and by TCP if the reply is cut short, somebody
// guesses replies (RFC 5452, 9.3), or the asker came by TCP. It has no goroutine of its own, which would be woken for each question.
type asking struct {
	ctx     context.Context
	cancel  context.CancelFunc
	lines   *lines
	shun    func(netip.AddrPort)
	q       question
	packet  []byte
	servers []netip.AddrPort
	done    func(*dns.Msg) // takes the reply, nil for none

	mu    sync.Mutex
	again *time.Timer
	left  time.Duration
	turns int      // how often it was another name server's turn
	asked int      // how often one was asked
	byTCP bool     // it is asked by TCP from now on
	open  []*ask   // those without an outcome
	last  *dns.Msg // the last name server's words
	over  bool
}

// askAll asks one name server after the other, the next one at once if one fails and after a while
// if it is silent, and again from the first one on. The first answer counts. Of those that
// refuse, the last one's words are passed on, if there is nothing better.
func (s *server) askAll(servers []netip.AddrPort, q question, done func(*dns.Msg)) {
	packet := packed(q.Msg)
	if len(servers) == 0 || packet == nil {
		done(nil)
		return
	}
	a := &asking{lines: s.lines, shun: s.upstreams.shun, q: q, packet: packet, servers: servers, done: done, left: forwardTime, byTCP: q.tcp}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.step(func() (over bool) {
		a.again = time.AfterFunc(againTime, func() { a.step(a.silent) })
		return a.next()
	})
}

// step goes one step further, if the question is not settled. The step reports whether it is now.
func (a *asking) step(step func() (over bool)) {
	a.mu.Lock()
	settled := !a.over && step()
	a.over = a.over || settled
	a.mu.Unlock()
	if !settled {
		return
	}
	a.again.Stop()
	a.cancel()
	for _, o := range a.open {
		if o.line != nil {
			o.line.forget(o)
		}
	}
	a.done(a.last)
}

// told takes what has come of asking a name server.
func (a *asking) told(got answered) { a.step(func() bool { return a.take(got) }) }

func (a *asking) take(got answered) (over bool) {
	switch {
	case got.lost && a.more():
		a.settle(got.ask)
		a.byTCP = true
		return a.ask(got.ask.by)
	case got.reply != nil && got.reply.Truncated && !got.byTCP:
		got.ask.line = nil // it has answered
		a.askWhole(got)
		return false
	}
	a.settle(got.ask)
	a.last = cmp.Or(got.reply, a.last)
	if good(got.reply) {
		for _, o := range a.open {
			if o.by != got.ask.by {
				a.shun(o.by)
			}
		}
		return true
	}
	if a.turns < len(a.servers) {
		return a.next()
	}
	return len(a.open) == 0
}

// settle takes what has an outcome off the list of what has none.
func (a *asking) settle(one *ask) {
	a.open = slices.DeleteFunc(a.open, func(o *ask) bool { return o == one })
}

// silent is the step after a while without an answer. The lines take no more questions: a
// translation of addresses on the way may lead what comes from their ports to where nobody is.
func (a *asking) silent() (over bool) {
	if a.left -= againTime; a.left <= 0 {
		return true
	}
	a.again.Reset(againTime)
	for _, o := range a.open {
		if o.line != nil {
			o.line.end()
		}
	}
	return a.more() && a.next()
}

// more reports whether a name server may be asked once more.
func (a *asking) more() bool { return a.asked < len(a.servers)+int(forwardTime/againTime) }

// next asks the name server whose turn it is.
func (a *asking) next() (over bool) {
	by := a.servers[a.turns%len(a.servers)]
	a.turns++
	return a.ask(by)
}

// ask asks a name server. If the packet cannot be sent, the line may have been told of the end of an
// earlier question; another one tells whether it holds for this one, too.
func (a *asking) ask(by netip.AddrPort) (over bool) {
	a.asked++
	for range 2 {
		one := &ask{by: by, question: a.q.Question[0], told: a.told}
		switch {
		case a.byTCP:
			a.askWhole(answered{ask: one})
		case !a.lines.send(one, a.packet):
			continue
		}
		a.open = append(a.open, one)
		return false
	}
	return a.take(answered{ask: &ask{by: by}})
}

// askWhole asks by TCP. If that fails, the reply by UDP counts, if there is one.
func (a *asking) askWhole(got answered) {
	go func() {
		whole := exchange(a.ctx, got.ask.by, a.q.Msg)
		a.told(answered{ask: got.ask, reply: cmp.Or(whole, got.reply), byTCP: true})
	}()
}

// good reports whether a reply settles the question: there are records, or there are none.
func good(r *dns.Msg) bool {
	return r != nil && (r.Rcode == dns.RcodeSuccess || r.Rcode == dns.RcodeNameError)
}
