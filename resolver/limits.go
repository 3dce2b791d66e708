package resolver

import (
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// Limits is what one container, and what all of them, may use of the resolver.
type Limits struct {
	// Rate is how many questions a second a container may ask for long, Burst how many at once, by
	// UDP and as many by TCP.
	Rate, Burst int
	// Forwards is how many of its questions may wait for the host's name servers at a time, and
	// Connections how many TCP connections it may have.
	Forwards, Connections int
	// AllForwards and AllConnections are the same for all containers together.
	AllForwards, AllConnections int
}

// DefaultLimits leave room for a busy server, whose library remembers no names. They bound what a
// resolver needs to some 100 MiB, if all containers of a host ask as much as they may.
var DefaultLimits = Limits{Rate: 5000, Burst: 10000, Forwards: 64, Connections: 16, AllForwards: 4096, AllConnections: 1024}

// account is what a container uses. Refusals are answered as often as questions, no more. What comes
// by UDP with the container's source may be another's on a LAN; by TCP it is its own.
type account struct {
	byUDP, byTCP, refusals *rate.Limiter
	forwards, connections  slots
	denied                 denied
}

// questions is the limit of what comes by UDP, or by TCP.
func (a *account) questions(tcp bool) *rate.Limiter {
	if tcp {
		return a.byTCP
	}
	return a.byUDP
}

// slots are places of which there are few.
type slots struct {
	used atomic.Int64
	most int64
}

func (s *slots) take() bool {
	if s.used.Add(1) <= s.most {
		return true
	}
	s.used.Add(-1)
	return false
}

func (s *slots) give() { s.used.Add(-1) }

// accounts are those of all containers that have asked, and of them together.
type accounts struct {
	limits                Limits
	forwards, connections slots
	mu                    sync.Mutex
	all                   map[string]*account
}

func newAccounts(l Limits) *accounts {
	a := &accounts{limits: l, all: map[string]*account{}}
	a.forwards.most, a.connections.most = int64(l.AllForwards), int64(l.AllConnections)
	return a
}

// of returns a container's account.
func (a *accounts) of(container string) *account {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.all[container]
	if c == nil {
		l := a.limits
		limiter := func() *rate.Limiter { return rate.NewLimiter(rate.Limit(l.Rate), l.Burst) }
		c = &account{byUDP: limiter(), byTCP: limiter(), refusals: limiter()}
		c.forwards.most, c.connections.most = int64(l.Forwards), int64(l.Connections)
		a.all[container] = c
	}
	return c
}

// keep forgets the containers that are gone.
func (a *accounts) keep(there map[string]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for container := range a.all {
		if !there[container] {
			delete(a.all, container)
		}
	}
}

// takeBoth takes a place of a container and one of all together.
func takeBoth(own, all *slots) bool {
	if !own.take() {
		return false
	}
	if !all.take() {
		own.give()
		return false
	}
	return true
}
