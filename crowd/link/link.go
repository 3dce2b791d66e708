// Package link puts impairments between a user of a crowd and the network: what the user's interface sends and receives
// takes a detour through this program, which loses, delays and paces it. All of it is in the user's namespace, so it is
// the same whatever the network is.
//
//	the user ── eth0 ─┐              ┌─ eth0 ── the network
//	                  lo ── relay ── lo                        and the same from the network to the user
package link

import (
	"errors"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/frames"
	"github.com/heddle-network/heddle/impair"
)

// Links are those of a crowd. All methods but Close may be called by several at once; Put and Take of a user are not.
type Links struct {
	// Late, if it is set, is told of each frame how much later than due it went on, from when the kernel had it.
	Late func(time.Duration)

	mu      sync.Mutex
	open    *bpf.Detour    // from the first Put on
	relays  map[int]relays // by user
	gone    impair.Count   // of links that were taken away
	missed  atomic.Uint64
	running sync.WaitGroup
}

// relays are those of a user: for what it sends, and for what it receives, through the socket.
type relays struct {
	out, in *impair.Relay
	socket  *frames.Socket
}

// set has the relays do what a link does, from the beginning of the seed.
func (r relays) set(as scenario.Link, seed uint64) {
	as.Seed = seed
	for _, one := range []*impair.Relay{r.out, r.in} {
		one.Set(as.Impairment)
		one.SetRate(as.Rate)
	}
}

// Put puts the link of a user, from 1, between a port of the user's namespace and the network. With the same seed it makes
// the same decisions about the user's frames. It lasts until Close, and keeps the namespace until then; when the process
// ends, so does the link. An error names the object, and has the kernel's message.
func (l *Links) Put(n socket.Namespace, port string, as scenario.Link, seed uint64, user int) error {
	var passing *frames.Socket
	err := n.Do(func() (err error) {
		passing, err = l.detour(port)
		return err
	})
	if err != nil {
		return err
	}
	both := l.pair(user)
	both.socket = passing
	both.set(as, seed)
	l.mu.Lock()
	if l.relays == nil {
		l.relays = map[int]relays{}
	}
	l.relays[user] = both
	l.mu.Unlock()
	l.running.Go(func() { l.divide(passing.Next, both.out, both.in) })
	for _, r := range []*impair.Relay{both.out, both.in} {
		l.running.Go(func() { r.Write(passing) })
	}
	return nil
}

// Change makes the link of a user another one, for frames that come from now on. Its decisions begin anew. It reports
// false if the user has no link.
func (l *Links) Change(as scenario.Link, seed uint64, user int) bool {
	l.mu.Lock()
	both, has := l.relays[user]
	l.mu.Unlock()
	if has {
		both.set(as, seed)
	}
	return has
}

// pair is the relays of a user, each with decisions of its own.
func (l *Links) pair(user int) relays {
	relay := func(stream uint64) *impair.Relay {
		r := impair.NewRelay(stream)
		r.Late = l.Late
		return r
	}
	return relays{out: relay(2 * uint64(user)), in: relay(2*uint64(user) + 1)}
}

// divide reads frames until the socket is closed, and passes those that were sent to out, all others to in. A frame that
// cannot be read is missed.
func (l *Links) divide(next func() ([]byte, time.Time, error), out, in *impair.Relay) {
	for {
		b, at, err := next()
		switch {
		case errors.Is(err, os.ErrClosed):
			return
		case err != nil:
			l.missed.Add(1)
		case len(b) <= impair.HeaderSize+bpf.GroupByte:
			continue
		case b[impair.HeaderSize+bpf.GroupByte]&bpf.GroupBit != 0:
			out.Pass(b, at)
		default:
			in.Pass(b, at)
		}
	}
}

// Count is what has been done to the frames of all users, both ways.
type Count struct {
	impair.Count
	// Missed is how many more the crowd itself lost: it was too slow to read them, or could not.
	Missed uint64 `json:"missed"`
}

// Counted is what has been done until now. After Close it is nothing.
func (l *Links) Counted() (c Count) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.Count = l.gone
	for _, r := range l.relays {
		c.Count = c.Plus(l.counted(r))
	}
	c.Missed = l.missed.Load()
	return c
}

// counted is what has been done to a user's frames; those that the kernel dropped are added to all that are missed.
func (l *Links) counted(r relays) impair.Count {
	if r.socket != nil {
		dropped, _ := r.socket.Dropped() // a socket that is open says it
		l.missed.Add(dropped)
	}
	return r.out.Counted().Plus(r.in.Counted())
}

// Take takes away the links of users who have one, for good: their frames, those that are under way and those that come, are
// lost. It returns when nothing of the links keeps the users' namespaces.
func (l *Links) Take(users ...int) {
	var all []relays
	l.mu.Lock()
	for _, user := range users {
		if r, has := l.relays[user]; has {
			l.gone = l.gone.Plus(l.counted(r))
			delete(l.relays, user)
			all = append(all, r)
		}
	}
	l.mu.Unlock()
	closeAll(all)
}

// Close takes all links away: frames go straight from then on. Those that are under way are lost.
func (l *Links) Close() {
	if l.open != nil {
		l.open.Close()
	}
	closeAll(slices.Collect(maps.Values(l.relays)))
	l.running.Wait()
	l.open, l.relays, l.gone = nil, nil, impair.Count{}
}

// closeAll closes relays and their sockets.
func closeAll(them []relays) {
	var sockets []*frames.Socket
	for _, r := range them {
		r.out.Close()
		r.in.Close()
		sockets = append(sockets, r.socket)
	}
	frames.Close(sockets...)
}

// Check refuses a kernel that has not what links need. It looks by putting one into a namespace that ends at once.
func Check() error {
	var n socket.Namespace
	holder, err := socket.NewHolder()
	if err == nil {
		defer holder.Close()
		n, err = holder.New()
	}
	if err != nil {
		return heddle.Wrap(heddle.CrowdFailed, "make network namespace for", "a link", err, "call as root")
	}
	l := &Links{}
	defer l.Close()
	if err = n.Do(makePort); err == nil {
		err = l.Put(n, "eth0", scenario.Link{}, 0, 0)
	}
	if err != nil {
		return heddle.Wrap(heddle.NotOnKernel, "give users", "links", err, "load the kernel's modules ('modprobe -a af_packet sch_ingress cls_bpf'), "+
			"take a kernel with eBPF, or take link out of the scenario's personas")
	}
	return nil
}

// makePort makes an interface in the thread's namespace.
func makePort() error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer h.Close()
	return h.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "eth1"})
}
