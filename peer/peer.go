// Package peer checks the paths to other hosts: whether the hosts answer, and which packet size the
// underlay carries. It sends ICMP echo requests that may not be fragmented, so that nothing has to
// listen at the other end (RFC 1191, RFC 8201, RFC 8899).
//
// If a router reports an MTU, it is used at once, and then tested. If no router reports, a size
// does not pass if its probes are not answered while small ones are. A larger size is tried again
// about once a minute. One agent sends about one packet a second when all is well, however many
// peers there are.
package peer

import (
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
)

// State of the path to a peer.
type State string

// The states: before the first answer, answering, and not answering.
const (
	Unknown State = "unknown"
	Up      State = "up"
	Silent  State = "silent"
)

// Path is what is known about the way to a peer's underlay address.
type Path struct {
	State State
	// MTU is the largest IP packet that arrives, in bytes; 0 before the first
	// answer. A peer that falls silent keeps it.
	MTU int
	// RTT is the smoothed round trip; 0 before the first answer.
	RTT time.Duration
	// Since is when State changed.
	Since time.Time
}

// Options of New.
type Options struct {
	// Self is this host: probes are sent from its underlay addresses, and none
	// larger than its MTU.
	Self heddle.Host
	Log  *slog.Logger
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// Peers probes the paths to the given hosts.
type Peers struct {
	log     *slog.Logger
	now     func() time.Time
	changed chan struct{}
	wake    chan struct{}
	done    chan struct{}
	all     sync.WaitGroup

	mu      sync.Mutex
	self    heddle.Host
	probers map[heddle.Family]*prober
	peers   map[string]*entry
	// sent are the latest probes, by sequence number.
	sent [4096]probe
	seq  uint16
}

// entry is a peer, with its path.
type entry struct {
	host heddle.Host
	addr netip.Addr
	*track
}

// probe is one echo request.
type probe struct {
	to   *entry
	seq  uint16
	size int
	at   time.Time
}

// New starts probing; there is nobody to probe before Set. The sockets are in the network namespace
// of the caller's thread. New does not need the underlay addresses: probing begins when they exist.
func New(o Options) *Peers {
	p := &Peers{log: o.Log, now: o.Now, self: o.Self, probers: map[heddle.Family]*prober{}, peers: map[string]*entry{},
		changed: make(chan struct{}, 1), wake: make(chan struct{}, 1), done: make(chan struct{})}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.now == nil {
		p.now = time.Now
	}
	p.mu.Lock()
	p.openProbersLocked()
	p.mu.Unlock()
	p.all.Go(p.run)
	return p
}

// Close ends the probing.
func (p *Peers) Close() {
	close(p.done)
	p.mu.Lock()
	for f := range p.probers {
		p.closeProberLocked(f)
	}
	p.mu.Unlock()
	p.all.Wait()
}

// Changed receives after the state or the MTU of a path has changed; its capacity is
// one.
func (p *Peers) Changed() <-chan struct{} { return p.changed }

// Set replaces the list of peers. It keeps the paths of peers that were there already.
func (p *Peers) Set(hosts []heddle.Host) {
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	next := map[string]*entry{}
	for _, h := range hosts {
		f, ok := heddle.Path(p.self, h)
		if !ok {
			continue
		}
		addr, _ := h.UnderlayFor(f)
		e := p.peers[h.ID]
		if e == nil || e.addr != addr {
			e = &entry{addr: addr, track: newTrack(now, f.LeastMTU(), p.maxMTU(f, h), rand.Float64())}
		}
		e.host = h
		e.setMaxMTU(now, p.maxMTU(f, h))
		next[h.ID] = e
	}
	for _, e := range next {
		e.every = max(steadyEvery, time.Duration(len(next))*steadyShare)
	}
	p.peers = next
	notify(p.wake)
}

// Paths returns what is known, by the hosts' IDs.
func (p *Peers) Paths() map[string]Path {
	p.mu.Lock()
	defer p.mu.Unlock()
	paths := make(map[string]Path, len(p.peers))
	for id, e := range p.peers {
		paths[id] = e.path
	}
	return paths
}

// maxMTU is the largest packet that the interfaces at both ends carry.
func (p *Peers) maxMTU(f heddle.Family, h heddle.Host) int {
	most := 65535
	for _, mtu := range []int{p.self.MTU, h.MTU, p.interfaceMTULocked(f)} {
		if mtu > 0 {
			most = min(most, mtu)
		}
	}
	return most
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
