package allocation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/port"
)

// world is a store of three members, and hosts that each reach every member by a
// wire of their own.
type world struct {
	t          *testing.T
	random     *rand.Rand // of the faults
	dir        string
	members    []*member
	hosts      []*host
	networks   []heddle.Network
	history    *history
	operator   *store.Etcd
	background sync.WaitGroup
	busy       sync.RWMutex // held for writing while nothing may be asked for
	counts     map[string]int
	flaws      flaws
	late       func(store.Change) bool
	moveTime   time.Duration // of agents that are started from now on; 2 s if 0
}

// member is a server of the store that can be stopped and started again.
type member struct {
	options store.ServerOptions
	server  *store.Server
}

func (m *member) start() (err error) {
	m.server, err = store.StartServer(m.options)
	return err
}

func newWorld(t *testing.T, seed uint64, hosts int, f flaws) *world {
	t.Helper()
	w := &world{t: t, random: rand.New(rand.NewPCG(seed, 1)), dir: t.TempDir(), history: newHistory(), counts: map[string]int{}, flaws: f}
	w.startMembers(3)
	var err error
	w.operator, err = store.Dial(store.Options{Endpoints: w.clients()})
	cell.Must(t, err)
	t.Cleanup(w.close)
	for i, subnet := range []string{"10.77.0.0/24", "fd77::/120"} {
		n, err := ipam.Check(heddle.Network{ID: fmt.Sprintf("%016x", i+1), Name: fmt.Sprintf("net%d", i), Mode: "overlay", Subnets: []netip.Prefix{netip.MustParsePrefix(subnet)}})
		cell.Must(t, err)
		w.networks = append(w.networks, n)
	}
	for i := range hosts {
		h := &host{name: fmt.Sprintf("h%d", i), number: i, world: w, dir: filepath.Join(w.dir, fmt.Sprintf("h%d", i)), leases: map[heddle.EndpointID]lease{}}
		for _, m := range w.members {
			r, err := newRelay(m.options.Client[0].String())
			cell.Must(t, err)
			h.relays = append(h.relays, r)
		}
		w.hosts = append(w.hosts, h)
		w.revive(h)
	}
	for _, n := range w.networks {
		_, err := w.hosts[0].agent.cluster.CreateNetwork(soon(t), n, nil)
		cell.Must(t, err)
	}
	return w
}

func (w *world) startMembers(count int) {
	initial := map[string]string{}
	for i := range count {
		name, client, peer := fmt.Sprintf("m%d", i), port.Free(w.t), port.Free(w.t)
		initial[name] = "http://" + peer.String()
		w.members = append(w.members, &member{options: store.ServerOptions{Name: name, Dir: filepath.Join(w.dir, name), Client: []netip.AddrPort{client}, Peer: []netip.AddrPort{peer}}})
	}
	for _, m := range w.members {
		m.options.Initial = initial
		cell.Must(w.t, m.start())
	}
	for _, m := range w.members {
		select {
		case <-m.server.Ready():
		case <-time.After(5 * time.Minute):
			w.t.Fatal("the store does not start")
		}
	}
}

func (w *world) clients() (all []string) {
	for _, m := range w.members {
		all = append(all, m.options.Client[0].String())
	}
	return all
}

func (w *world) network(id string) heddle.Network {
	for _, n := range w.networks {
		if n.ID == id {
			return n
		}
	}
	panic("no network " + id)
}

// revive starts a host's agent, however long it takes.
func (w *world) revive(h *host) {
	w.t.Helper()
	if _, err := poll.Until(5*time.Minute, 50*time.Millisecond, func() error { return h.start(w.flaws) }); err != nil {
		w.t.Fatalf("the agent of %s does not start: %v", h.name, err)
	}
}

func (w *world) close() {
	for _, h := range w.hosts {
		for _, r := range h.relays {
			r.heal()
		}
		h.kill()
	}
	w.background.Wait()
	w.operator.Close()
	for _, h := range w.hosts {
		for _, r := range h.relays {
			r.close()
		}
	}
	for _, m := range w.members {
		m.server.Close()
	}
}

// soon bounds what is expected to succeed, on a slow machine too.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
