package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
)

// world is a hypervisor in memory with the machines a and b. Each may have NICs on lan; a may on dmz, too.
type world struct {
	mu    sync.Mutex
	ports map[string]Port
	// devices has the ids of each machine's devices, and ops what was done, in order.
	devices map[string][]string
	ops     []string
	// broken has errors of operations ("plug x"), wait is called in Machine.Plug, pause in Make.
	broken map[string]error
	wait   func(id string)
	pause  func()
	// kept are TAPs of ports without a record. Ports are kept by TAP.
	kept  map[string]bool
	slots int
	made  int
	// changed is what the agent tells of ports.
	changed chan portChange
	// cpus has the processors of machines with more than one, queues how many pairs of queues each device has.
	cpus, queues map[string]int
}

type portChange struct {
	machine string
	gone    bool
	broken  error
}

func newWorld() *world {
	return &world{ports: map[string]Port{}, devices: map[string][]string{}, cpus: map[string]int{}, queues: map[string]int{}, broken: map[string]error{}, slots: 4, wait: func(string) {}, pause: func() {},
		changed: make(chan portChange)}
}

func (w *world) config() Config {
	two := 2
	return Config{Listen: "127.0.0.1:7950", Machines: map[string]Guest{
		"a": {QMP: "/a", Networks: []string{"lan", "dmz"}, Most: &two, Addresses: 2}, "b": {QMP: "/b", Networks: []string{"lan"}}}}
}

func (w *world) service() *Service { return w.serviceOf(w.config()) }

func (w *world) serviceOf(c Config) *Service {
	return New(c, w, func(name string) (Machine, error) { return machine{w, name}, nil }, slog.New(slog.DiscardHandler))
}

// do notes an operation, and returns the error that it is to have. It is called with the lock held.
func (w *world) do(format string, args ...any) error {
	op := fmt.Sprintf(format, args...)
	w.ops = append(w.ops, op)
	return w.broken[op]
}

// took returns the operations since the last call.
func (w *world) took() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ops := w.ops
	w.ops = nil
	return heddle.List(ops)
}

func (w *world) fail(op string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken[op] = err
}

// state lists ports, and devices of machines.
func (w *world) state() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, p := range w.ports {
		all = append(all, name(p))
	}
	for m, ids := range w.devices {
		for _, id := range ids {
			all = append(all, m+"="+id)
		}
	}
	slices.Sort(all)
	return heddle.List(all)
}

func (w *world) Make(_ context.Context, m string, o nic.Order, multiQueue bool) (Port, error) {
	w.pause()
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.do("make %s/%s", m, o.Token); err != nil {
		return Port{}, err
	}
	w.made++
	n := byte(w.made)
	card := nic.Card{Token: o.Token, Network: o.Network, MAC: o.MAC, MTU: 1500, Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")},
		Addrs: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, n}), 24), netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: n}), 64)}}
	if card.MAC == "" {
		card.MAC = heddle.MAC(fmt.Sprintf("0a:00:00:00:00:%02x", n))
	}
	for _, a := range o.IPs {
		for i, p := range card.Addrs {
			if p.Addr().Is4() == a.Is4() {
				card.Addrs[i] = netip.PrefixFrom(a, p.Bits())
			}
		}
	}
	p := Port{ID: heddle.EndpointID{Container: fmt.Sprint("nic-", n), IfName: "eth0"}, Machine: m, Card: card, TAP: fmt.Sprintf("tap%d", n), MultiQueue: multiQueue}
	w.ports[p.TAP] = p
	return p, nil
}

func (w *world) Open(p Port, queues int) (all []*os.File, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.do("open %s", p.TAP); err != nil {
		return nil, err
	}
	for m, ids := range w.devices {
		if slices.Contains(ids, p.TAP) {
			return nil, fmt.Errorf("machine %s has it open: %w", m, syscall.EBUSY)
		}
	}
	if !p.MultiQueue {
		queues = 1
	}
	for range queues {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

func (w *world) Keep(_ context.Context, p Port) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.do("keep %s", name(p)); err != nil {
		return err
	}
	w.ports[p.TAP] = p
	return nil
}

func (w *world) Assign(_ context.Context, p Port, sets int) (Port, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.do("assign %d to %s", sets, name(p)); err != nil {
		return Port{}, err
	}
	for n := byte(len(p.Card.Further)); int(n) < sets; n++ {
		p.Card.Further = append(p.Card.Further, []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2, 100 + n}), 24)})
	}
	w.ports[p.TAP] = p
	return p, nil
}

func (w *world) Unassign(_ context.Context, p Port, a netip.Addr) (Port, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.do("unassign %v of %s", a, name(p)); err != nil {
		return Port{}, err
	}
	p.Card.Further = slices.DeleteFunc(slices.Clone(p.Card.Further), func(s []netip.Prefix) bool { return s[0].Addr() == a })
	w.ports[p.TAP] = p
	return p, nil
}

func (w *world) Limit(_ context.Context, p Port, asked, limits heddle.RateLimits) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.do("limit %s to %s", name(p), limits); err != nil {
		return err
	}
	p.Card.Asked, p.Card.Limits = asked, limits
	w.ports[p.TAP] = p
	return nil
}

func (w *world) Remove(_ context.Context, p Port) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.do("remove %s", name(p)); err != nil {
		return err
	}
	delete(w.ports, p.TAP)
	return nil
}

func (w *world) Watches() []Watch { return []Watch{w.watch} }

func (w *world) watch(ctx context.Context, begun func(), changed func(machine string, gone bool)) error {
	begun()
	for {
		select {
		case c := <-w.changed:
			if c.broken != nil {
				return c.broken
			}
			changed(c.machine, c.gone)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (w *world) There(tap string) (bool, error) { return w.kept[tap], nil }

// name is a port with its move: "a/x", or "a/x>b/y" if b may take it over, "a/x>b/y!" if it has.
func name(p Port) string {
	n := p.Machine + "/" + p.Card.Token
	if p.Move.To != "" {
		n += ">" + p.Move.To + "/" + p.Move.As
	}
	if p.Move.Taken {
		n += "!"
	}
	if p.Move.Left {
		n += " left"
	}
	return n
}

func (w *world) List(context.Context, ...string) (all []Port, unknown Unknown) {
	w.mu.Lock()
	defer w.mu.Unlock()
	unknown = Unknown{"": w.broken["list"], "red": w.broken["list red"]}
	for _, p := range w.ports {
		if unknown.in(vpcsOf(p.Card.Network)...) == nil {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Port) int { return strings.Compare(a.TAP, b.TAP) })
	return all, unknown
}

type machine struct {
	*world
	name string
}

func (m machine) Plug(ctx context.Context, id string, mac heddle.MAC, mtu, queues int, multiQueue bool, open func(int) ([]*os.File, error)) error {
	taps, err := open(min(queues, max(1, m.cpus[m.name])))
	if err != nil {
		return err
	}
	tap := taps[0]
	defer func() {
		for _, f := range taps {
			f.Close()
		}
	}()
	m.wait(id)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := errors.Join(ctx.Err(), m.do("plug %s", id)); err != nil {
		return err
	}
	if _, err := tap.Stat(); err != nil || mac == "" || slices.Contains(m.devices[m.name], id) {
		return fmt.Errorf("device %s: %v, MAC %q, or it is there", id, err, mac)
	}
	if several := m.ports[id].MultiQueue; multiQueue != several || queues > 1 && !several {
		return fmt.Errorf("device %s may have %d pairs of queues, several: %v, and its TAP: %v", id, queues, multiQueue, several)
	}
	m.devices[m.name] = append(m.devices[m.name], id)
	m.queues[id] = len(taps)
	return nil
}

func (m machine) Unplug(ctx context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := errors.Join(ctx.Err(), m.do("unplug %s", id)); err != nil {
		return err
	}
	m.devices[m.name] = slices.DeleteFunc(m.devices[m.name], func(x string) bool { return x == id })
	return nil
}

func (m machine) Plugged(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.devices[m.name]), m.broken["plugged"]
}

func (m machine) Slots(context.Context) (all, free int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.slots, m.slots - len(m.devices[m.name]), m.broken["slots"]
}

// reconcileAll does once what the service does again and again.
func (s *Service) reconcileAll(ctx context.Context) error {
	var errs []error
	for _, g := range s.guests {
		errs = append(errs, s.reconcile(ctx, g))
	}
	return errors.Join(append(errs, s.removeLeft(ctx))...)
}

func (m machine) Queues(context.Context) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return max(1, m.cpus[m.name]), m.broken["queues"]
}
