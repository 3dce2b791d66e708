package allocation_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/ipam"
	"github.com/heddle-network/heddle/store"
)

// host is what lasts while its agent dies and comes back: the disk, and the
// endpoints with their addresses.
type host struct {
	name   string
	number int
	world  *world
	relays []*relay

	mu      sync.Mutex // guards the rest, and every use of an address
	dir     string
	life    int
	agent   *agent
	leases  map[heddle.EndpointID]lease
	counter int
	removed bool
}

type lease struct {
	network string
	addr    netip.Addr
}

// agent gives out addresses by the rules of the real one: those of its blocks and
// its pins, not those that are lent.
type agent struct {
	host    *host
	cluster *cluster.Cluster
	client  *store.Etcd
	gate    *gate
	ctx     context.Context
	cancel  context.CancelFunc
	pools   map[string]*ipam.Pool
	lent    map[heddle.Pin]bool
	yields  map[heddle.Block]bool
	flaws   flaws
}

// flaws are what a broken agent does.
type flaws struct {
	noFence    bool // commits without requiring its own record
	noReserve  bool // answers a want without setting the address aside
	early      bool // uses a block before the claim is known to be made
	ignoreLent bool // gives out what it has lent
}

// start runs the host's agent from what is on its disk.
func (h *host) start(f flaws) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := &agent{host: h, gate: newGate(), pools: map[string]*ipam.Pool{}, lent: map[heddle.Pin]bool{}, yields: map[heddle.Block]bool{}, flaws: f}
	var err error
	if a.client, err = store.Dial(store.Options{Endpoints: h.endpoints(), Patience: 2 * time.Second}); err != nil {
		return err
	}
	s := gated{Store: a.client, gate: a.gate, late: h.world.late}
	if f.noFence {
		s.spoil = withoutFence(h.name)
	}
	skew := time.Duration(h.number-2) * 30 * time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	a.cluster, err = cluster.Open(ctx, cluster.Options{Store: s, StateDir: h.dir, Wait: 500 * time.Millisecond, MoveTime: cmp.Or(h.world.moveTime, 2*time.Second),
		Self: heddle.Host{Name: h.name, MTU: 1500}, Now: func() time.Time { return time.Now().Add(skew) }})
	if err != nil {
		a.client.Close()
		return err
	}
	for _, n := range h.world.networks {
		a.pools[n.ID] = ipam.NewPool(n, ipam.WithQuarantine(20*time.Millisecond))
	}
	for id, l := range h.leases {
		n := h.world.network(l.network)
		if err := a.pools[l.network].Restore(id, []netip.Prefix{netip.PrefixFrom(l.addr, n.Subnets[0].Bits())}); err != nil {
			return err
		}
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	h.agent = a
	h.life++
	go a.cluster.Serve(a.ctx, a)
	return nil
}

func (h *host) endpoints() []string {
	var all []string
	for _, r := range h.relays {
		all = append(all, r.listener.Addr().String())
	}
	return all
}

func withoutFence(name string) func(store.Change) store.Change {
	return func(c store.Change) store.Change {
		if len(c.Require) > 0 && c.Require[0].Key == cluster.Prefix+"hosts/"+name+"/self" && !slices.ContainsFunc(c.Put, func(e store.Entry) bool { return e.Key == c.Require[0].Key }) {
			c.Require = c.Require[1:]
		}
		return c
	}
}

// kill ends the agent at whatever it does. Its disk is as it was at that instant.
func (h *host) kill() {
	h.mu.Lock()
	a := h.agent
	if a == nil {
		h.mu.Unlock()
		return
	}
	a.gate.kill()
	next := filepath.Join(filepath.Dir(h.dir), fmt.Sprintf("%s-%d", h.name, h.life))
	_ = os.MkdirAll(next, 0o700)
	if text, err := os.ReadFile(filepath.Join(h.dir, "cluster.json")); err == nil {
		_ = os.WriteFile(filepath.Join(next, "cluster.json"), text, 0o600)
	}
	h.dir, h.agent = next, nil
	h.mu.Unlock()
	a.cancel()
	h.world.background.Go(func() {
		a.cluster.Close()
		a.client.Close()
	})
}

// current returns the host's agent, nil while there is none.
func (h *host) current() *agent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.agent
}

// fitLocked brings a pool in line with what the view says.
func (a *agent) fitLocked(network string, v *cluster.View) {
	blocks := a.blocks(network, v)
	except := map[netip.Addr]string{}
	if !a.flaws.ignoreLent {
		for _, p := range v.Lent {
			if p.Network == network {
				except[p.Addr] = "another host"
			}
		}
		for p := range a.lent {
			if p.Network == network {
				except[p.Addr] = "another host"
			}
		}
	}
	a.pools[network].SetBlocks(blocks, except)
}

func (a *agent) blocks(network string, v *cluster.View) []netip.Prefix {
	return slices.DeleteFunc(v.BlocksOf(network, v.Self.ID), func(p netip.Prefix) bool {
		return a.yields[heddle.Block{Network: network, Prefix: p, Host: v.Self.ID}]
	})
}

func (a *agent) owns(network string, addr netip.Addr, v *cluster.View) bool {
	if slices.ContainsFunc(a.blocks(network, v), func(b netip.Prefix) bool { return b.Contains(addr) }) {
		return true
	}
	return slices.Contains(v.Pins, heddle.Pin{Network: network, Addr: addr, Host: v.Self.ID})
}

// use takes an address that the host has: any, or a certain one. It is the only
// place where addresses are taken.
func (a *agent) use(n heddle.Network, id heddle.EndpointID, want netip.Addr, extra ...netip.Prefix) (netip.Addr, error) {
	if err := a.gate.pass(); err != nil {
		return want, err
	}
	h := a.host
	h.mu.Lock()
	defer h.mu.Unlock()
	v := a.cluster.View()
	if h.agent != a || v.Removed || h.removed {
		return want, errKilled
	}
	if l, has := h.leases[id]; has {
		return l.addr, nil
	}
	a.fitLocked(n.ID, v)
	if len(extra) > 0 {
		a.pools[n.ID].SetBlocks(append(a.blocks(n.ID, v), extra...), nil)
	}
	var wants []netip.Addr
	if want.IsValid() {
		if !a.owns(n.ID, want, v) {
			return want, errLacks
		}
		wants = []netip.Addr{want}
	}
	began := h.world.history.now()
	got, err := a.pools[n.ID].Take(id, wants)
	if err != nil {
		return want, err
	}
	h.leases[id] = lease{n.ID, got[0].Addr()}
	h.world.history.record(h.number, began, step{n.ID + got[0].Addr().String(), h.name + "/" + id.Container, true})
	return got[0].Addr(), nil
}

var errLacks = errors.New("not this host's")

// take attaches an endpoint.
func (a *agent) take(ctx context.Context, n heddle.Network, want netip.Addr, id heddle.EndpointID) error {
	for range 3 {
		_, err := a.use(n, id, want)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errLacks):
			_, err = a.cluster.ClaimBlock(ctx, n, n.Subnets[0], want)
			if errors.Is(err, heddle.AddressTaken.Sentinel()) {
				err = a.cluster.Borrow(ctx, n.ID, want, id)
			}
		case !want.IsValid() && errors.Is(err, heddle.PoolExhausted.Sentinel()):
			if a.flaws.early {
				if guess, ok := a.guess(n); ok {
					if _, err := a.use(n, id, want, guess); err == nil {
						return nil
					}
				}
			}
			_, err = a.cluster.ClaimBlock(ctx, n, n.Subnets[0], netip.Addr{})
		}
		if err != nil {
			return err
		}
	}
	return errLacks
}

// guess is the block that a claim is likely to get.
func (a *agent) guess(n heddle.Network) (netip.Prefix, bool) {
	taken := a.cluster.View().Blocks
	for addr := n.Subnets[0].Addr(); n.Subnets[0].Contains(addr); {
		b := heddle.BlockOf(n.Subnets[0], addr)
		if !slices.ContainsFunc(taken, func(t heddle.Block) bool { return t.Network == n.ID && t.Prefix == b }) {
			return b, true
		}
		for b.Contains(addr) {
			addr = addr.Next()
		}
	}
	return netip.Prefix{}, false
}

// give detaches an endpoint, and lends its address if it is to move.
func (a *agent) give(id heddle.EndpointID, move bool) (l lease, err error) {
	if err := a.gate.pass(); err != nil {
		return l, err
	}
	h := a.host
	h.mu.Lock()
	defer h.mu.Unlock()
	l, known := h.leases[id]
	if h.agent != a || !known {
		return l, errKilled
	}
	began := h.world.history.now()
	delete(h.leases, id)
	a.pools[l.network].Give(id)
	h.world.history.record(h.number, began, step{l.network + l.addr.String(), h.name + "/" + id.Container, false})
	v := a.cluster.View()
	if move {
		a.fitLocked(l.network, v)
		if err := a.pools[l.network].Lend(l.addr, "another host"); err != nil {
			return l, err
		}
		a.lent[heddle.Pin{Network: l.network, Addr: l.addr}] = true
		return l, nil
	}
	if slices.Contains(v.Pins, heddle.Pin{Network: l.network, Addr: l.addr, Host: v.Self.ID}) {
		a.cluster.Return(l.network, l.addr)
	}
	return l, nil
}

// move sends an endpoint's address to another host.
func (a *agent) move(ctx context.Context, id heddle.EndpointID, to string) {
	l, err := a.give(id, true)
	if err != nil {
		return
	}
	if err := a.cluster.Send(ctx, cluster.Move{Network: l.network, Addr: l.addr, Endpoint: id, To: to}); err == nil {
		return
	}
	a.host.mu.Lock()
	defer a.host.mu.Unlock()
	if !a.isLent(l.network, l.addr) {
		delete(a.lent, heddle.Pin{Network: l.network, Addr: l.addr})
		a.pools[l.network].Reclaim(l.addr)
	}
	a.cluster.Return(l.network, l.addr) // if it is a borrowed one that stayed
}

// Lend sets an address aside for another host.
func (a *agent) Lend(network string, addr netip.Addr) error {
	if err := a.gate.pass(); err != nil {
		return err
	}
	a.host.mu.Lock()
	defer a.host.mu.Unlock()
	if a.flaws.noReserve {
		return nil
	}
	if err := a.pools[network].Lend(addr, "another host"); err != nil {
		return err
	}
	a.lent[heddle.Pin{Network: network, Addr: addr}] = true
	return nil
}

// Reclaim takes an address back.
func (a *agent) Reclaim(network string, addr netip.Addr) {
	a.host.mu.Lock()
	defer a.host.mu.Unlock()
	delete(a.lent, heddle.Pin{Network: network, Addr: addr})
	if !a.isLent(network, addr) {
		a.pools[network].Reclaim(addr)
	}
}

func (a *agent) isLent(network string, addr netip.Addr) bool {
	return slices.ContainsFunc(a.cluster.View().Lent, func(p heddle.Pin) bool { return p.Network == network && p.Addr == addr })
}

// tidy yields blocks that nobody uses but for the first, and gives back pins
// without an endpoint.
func (a *agent) tidy(ctx context.Context, all bool) {
	if a.gate.pass() != nil {
		return
	}
	h := a.host
	h.mu.Lock()
	v := a.cluster.View()
	for _, p := range v.Pins {
		if p.Host == v.Self.ID {
			if _, held := a.pools[p.Network].Holder(p.Addr); !held && (all || rand.IntN(4) == 0) {
				a.cluster.Return(p.Network, p.Addr)
			}
		}
	}
	for _, n := range h.world.networks {
		a.fitLocked(n.ID, v)
		for i, b := range a.blocks(n.ID, v) {
			if (i > 0 || all) && !a.pools[n.ID].Leased(b) {
				a.yields[heddle.Block{Network: n.ID, Prefix: b, Host: v.Self.ID}] = true
			}
		}
		a.fitLocked(n.ID, v)
	}
	var list []heddle.Block
	for b := range a.yields {
		list = append(list, b)
	}
	h.mu.Unlock()
	for _, b := range list {
		err := a.cluster.YieldBlock(ctx, b.Network, b.Prefix)
		if err == nil || errors.Is(err, heddle.AddressTaken.Sentinel()) {
			h.mu.Lock()
			delete(a.yields, b)
			h.mu.Unlock()
		}
	}
}

// newID names an endpoint that never was.
func (h *host) newID() heddle.EndpointID {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counter++
	return heddle.EndpointID{Container: fmt.Sprintf("%s-%d", h.name, h.counter), IfName: "eth0"}
}

// any returns one of the host's endpoints.
func (h *host) any() (heddle.EndpointID, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.leases {
		return id, len(h.leases)
	}
	return heddle.EndpointID{}, 0
}
