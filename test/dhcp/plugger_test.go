package dhcp_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/kernel/coexist"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// plugger is a provider whose NICs are on a LAN: ends of pairs, whose other ends are ports of a switch. Network office is that LAN, and on
// network apart the provider says which addresses there are.
type plugger struct {
	lan world.Netns
	// passes are the addresses that each card has, closed what its NIC must not lead to.
	passes []netip.Prefix
	closed []netip.Prefix

	// changed has a watch end; its capacity is one.
	changed chan bool

	mu    sync.Mutex
	made  int
	cards map[string]nic.Card
	// ports are the switch's, by token, of the cards that are plugged in.
	ports map[string]string
	// ordered are the addresses of the last order.
	ordered []netip.Addr
	// away: nothing is plugged in.
	away bool
}

// newPlugger makes the LAN, with a switch that is also its router.
func newPlugger(t *testing.T) *plugger {
	t.Helper()
	cell.Need(t)
	p := &plugger{lan: world.NewNetns(t, "lan"), cards: map[string]nic.Card{}, ports: map[string]string{}, changed: make(chan bool, 1)}
	cell.Sh(t, `ip -n lan link add eth0 address 02:00:00:00:0a:fe type bridge; ip -n lan address add 192.0.2.2/24 dev eth0; ip -n lan link set eth0 up
		ip -n lan link set lo up; ip -n lan address add 203.0.113.9/32 dev lo`)
	return p
}

// world is a machine into which the NICs are plugged.
func (p *plugger) world(t *testing.T) *world.World {
	t.Helper()
	return world.New(t, func(o *agent.Options) { o.NICs, o.Machine = p, openMachine })
}

// permanentNICs has each NIC's MAC address for the permanent one: ends of pairs have none.
type permanentNICs struct{ *kernel.Kernel }

func (k permanentNICs) Snapshot(name string) (heddle.NIC, error) {
	n, err := k.Kernel.Snapshot(name)
	n.Was.Permanent = n.MAC
	return n, err
}

func openMachine(h agent.Hooks) (m agent.Machine, err error) {
	k, err := kernel.Open()
	if err != nil {
		return m, err
	}
	k.Tripwire, k.Wanted, k.GivenAway, k.Lost = h.Tripwire, h.Wanted, h.GivenAway, h.Lost
	others, err := coexist.Open()
	return agent.Machine{PlanApplier: k, Namespaces: k, LinkEnds: k, HostReader: k, NICs: permanentNICs{k}, LostNICs: k, LAN: k, Connections: k, FastPath: k, Watcher: k, Listener: k,
		Firewalls: others, Listen: func(heddle.PortMapping) error { return nil }, Close: k.Close}, err
}

func (p *plugger) Plug(_ context.Context, order nic.Order) (nic.Card, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ordered = order.IPs; p.away {
		return nic.Card{}, heddle.Errorf(heddle.NotPlugged, "plug NIC", order.Token, "the provider is away", "try again later")
	}
	c, known := p.cards[order.Token]
	if !known {
		c = nic.Card{Token: order.Token, Network: order.Network, MAC: order.MAC, Addrs: p.passes, Closed: p.closed, MTU: 1500}
	}
	if !c.Plugged {
		p.made++
		port := fmt.Sprint("port", p.made)
		if out, err := cell.TrySh("ip link add plug%d address %s type veth peer name %s netns lan && ip -n lan link set %s master eth0 up", p.made, c.MAC, port, port); err != nil {
			return c, errors.New(out)
		}
		p.ports[c.Token], c.Plugged = port, true
	}
	p.cards[c.Token] = c
	return c, nil
}

func (p *plugger) Unplug(_ context.Context, token string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.cards, token)
	p.ejectLocked(token)
	return nil
}

// ejectLocked takes the device out, wherever the machine has it.
func (p *plugger) ejectLocked(token string) {
	if port := p.ports[token]; port != "" {
		cell.TrySh("ip -n lan link delete %s", port)
	}
	delete(p.ports, token)
}

// ejectAll takes all devices out, as a hypervisor may; the ports stay. It waits until the container has its NIC again, and returns by which
// addresses that was ordered.
func (p *plugger) ejectAll(t *testing.T, container string) (ordered []netip.Addr) {
	t.Helper()
	before, _ := p.look()
	p.ejectOnce()
	p.changed <- true
	world.Within(t, 3*world.Patience, "the NIC is there again", func() error {
		made := 0
		if made, ordered = p.look(); made == before {
			return errors.New("it is not plugged in")
		}
		_, err := cell.TrySh("ip -n %s link show eth0", container)
		return err
	})
	return ordered
}

func (p *plugger) ejectOnce() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for token, c := range p.cards {
		p.ejectLocked(token)
		c.Plugged = false
		p.cards[token] = c
	}
}

func (p *plugger) List(context.Context) (all []nic.Card, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, token := range slices.Sorted(maps.Keys(p.cards)) {
		all = append(all, p.cards[token])
	}
	return all, nil
}

func (p *plugger) Watch(ctx context.Context, since string) (string, error) {
	select {
	case <-ctx.Done():
	case <-p.changed:
		return since + "+", nil
	case <-time.After(time.Second):
	}
	return since, ctx.Err()
}

func (p *plugger) Describe(context.Context) (nic.Offer, error) {
	return nic.Offer{Machine: "vm1", Networks: []string{"apart", "office"}, Slots: 8, Free: 8, DHCP: []string{"office"}}, nil
}

func (p *plugger) Permit(context.Context, string, string, string) error { return nil }
func (p *plugger) Confirm(context.Context, string) error                { return nil }

// set changes what the provider says.
func (p *plugger) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// look says how many NICs were plugged in, and the addresses of the last order.
func (p *plugger) look() (made int, ordered []netip.Addr) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made, p.ordered
}

// onOffice has a network's NICs plugged in, and their addresses come from the LAN.
func onOffice(n *heddle.Network) {
	byDHCP(n)
	world.With("plug=office")(n)
}

// unplugged waits until the provider has no NIC and no port of the machine any more.
func (p *plugger) unplugged(t *testing.T) {
	t.Helper()
	world.Soon(t, "the NIC is unplugged", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.cards)+len(p.ports) > 0 {
			return fmt.Errorf("cards %v, ports %v", p.cards, p.ports)
		}
		return nil
	})
}
