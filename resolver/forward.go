package resolver

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/miekg/dns"
)

// How long all name servers together may take, and after which time another one is asked, too.
const forwardTime, againTime = 4 * time.Second, time.Second

// forward asks the host's name servers. If none has an answer, its reply says so.
func (s *server) forward(q question) *dns.Msg {
	table := s.table.Load()
	servers := s.upstreams.ordered(func(a netip.Addr) bool { // who would ask us again
		return slices.Contains(table.Listens(), a) || slices.Contains(q.asker.Addrs, a)
	})
	ctx, cancel := context.WithTimeout(context.Background(), forwardTime)
	defer cancel()
	reply := s.askAll(ctx, servers, forwardable(q))
	if reply == nil || points(reply, table) {
		s.counts.failed.Add(1)
		return q.reply(dns.RcodeServerFailure)
	}
	return returnable(q, reply)
}

// answered is what has come of asking a name server.
type answered struct {
	by    netip.AddrPort
	reply *dns.Msg
}

// askAll asks one name server after the other, the next one at once if one fails and after a while
// if it is silent, and again from the first one on. The first answer counts. Of those that
// refuse, the last one's words are returned, if there is nothing better.
func (s *server) askAll(ctx context.Context, servers []netip.AddrPort, q question) (last *dns.Msg) {
	if len(servers) == 0 {
		return nil
	}
	results := make(chan answered, len(servers)+int(forwardTime/againTime))
	waiting := map[netip.AddrPort]int{}
	asked, running := 0, 0
	next := func() {
		by := servers[asked%len(servers)]
		asked++
		running++
		waiting[by]++
		go func() { results <- answered{by, exchange(ctx, by, q)} }()
	}
	again := time.NewTicker(againTime)
	defer again.Stop()
	next()
	for {
		select {
		case got := <-results:
			running--
			waiting[got.by]--
			if good(got.reply) {
				for by, n := range waiting {
					if n > 0 && by != got.by {
						s.upstreams.shun(by)
					}
				}
				return got.reply
			}
			if got.reply != nil {
				last = got.reply
			}
			if asked < len(servers) {
				next()
			} else if running == 0 {
				return last
			}
		case <-again.C:
			if asked < cap(results) {
				next()
			}
		case <-ctx.Done():
			return last
		}
	}
}

// good reports whether a reply settles the question: there are records, or there are none.
func good(r *dns.Msg) bool {
	return r != nil && (r.Rcode == dns.RcodeSuccess || r.Rcode == dns.RcodeNameError)
}
