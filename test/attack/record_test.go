package attack_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/forge"
	"github.com/heddle-network/heddle/test/world"
)

// recordScene is two hosts with a store of their own. The second was taken over: its
// agent is gone, and its keys write what the attacker likes.
type recordScene struct {
	forger             *forge.Forger
	world.Netns        // the first host
	first              *lab.Host
	agent              *client.Client
	heddle             func(args ...string) (string, error)
	second             heddle.Host
	created, addresses int
}

// recordAttack is an attack by the records that a host writes, on the hosts that read
// them.
type recordAttack struct {
	class, name, modes string
	// mount says whether the record had its effect on the first host; open writes the
	// like of it that is as it should be, or that an operator has allowed.
	mount func(t *testing.T, s *recordScene, mode string, open bool) (succeeded bool)
}

func recordAttacks() []recordAttack {
	return []recordAttack{
		{"records", "a shared network over addresses of the Internet", "overlay", coverInternet},
		{"records", "a shared network over addresses that a host has a route to", "overlay", coverRoute},
		{"records", "a shared network of any mode, on any interface", "host bridge routed macvlan ipvlan direct", anyMode},
		{"records", "a host's underlay address that no host can have", "overlay", noAddress},
		{"records", "names for other hosts' addresses, on a network without a block of its own, and malformed ones", "overlay", foreignNames},
	}
}

// TestRecordAttacks mounts each twice: as an attack, and as what is allowed, which must
// have its effect, or the test would prove nothing.
func TestRecordAttacks(t *testing.T) {
	cell.Need(t)
	s := newRecordScene(t)
	ran := tally{}
	for _, a := range recordAttacks() {
		for _, mode := range strings.Fields(a.modes) {
			t.Run(a.name+"/"+mode+"/guarded", func(t *testing.T) {
				if a.mount(t, s, mode, false) {
					t.Error("the attack succeeded")
				}
				ran.did(a.name, mode)
			})
			t.Run(a.name+"/"+mode+"/control", func(t *testing.T) {
				if !a.mount(t, s, mode, true) {
					t.Error("what is allowed has no effect either: the attack proves nothing")
				}
			})
		}
		ran.complete(t, a.listing())
	}
}

func newRecordScene(t *testing.T) *recordScene {
	t.Helper()
	program := cell.Build(t, "heddle")
	l, err := lab.Up(context.Background(), lab.Options{Name: "records", Hosts: 2, Store: "embedded", Dir: t.TempDir(), AgentCommand: []string{cell.Build(t, "heddled")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	first, second := l.Hosts[0], l.Hosts[1]
	s := &recordScene{Netns: world.Netns{Name: first.Name, Path: first.Netns}, first: first, agent: client.New(first.Socket)}
	s.heddle = func(args ...string) (string, error) {
		cmd := exec.Command(program, append([]string{"--socket", first.Socket}, args...)...)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	all, err := s.agent.Hosts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.heddle("host", "grant", second.Name, "networks"); err != nil { // readers judge what the store takes
		t.Fatalf("%v: %s", err, out)
	}
	i := slices.IndexFunc(all, func(h client.HostStatus) bool { return h.Name == second.Name })
	s.second = heddle.Host{Name: all[i].Name, ID: all[i].ID, Underlay: all[i].Underlay, MTU: all[i].MTU}
	if err := second.KillAgent(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.forger = forge.As(t, second)
	if out, err := s.heddle("network", "create", "app", "--mode", "overlay", "--subnet", "10.10.0.0/24"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return s
}

// network writes a network's record, and returns how to take it away.
func (s *recordScene) network(t *testing.T, n heddle.Network) (name string, drop func()) {
	t.Helper()
	s.created++
	n.Name, n.ID, n.Shared = fmt.Sprint("forged", s.created), fmt.Sprintf("%016x", s.created), true
	key := "/heddle/networks/" + n.Name
	if err := s.forger.Write(s.record(t, key, n)); err != nil {
		t.Fatal(err)
	}
	return n.Name, func() {
		if err := s.forger.Delete(key); err != nil {
			t.Error(err)
		}
		world.Within(t, world.RepairTime, "the network is gone", func() error {
			if s.has(n.Name) {
				return fmt.Errorf("%s is there", n.Name)
			}
			return nil
		})
	}
}

func (s *recordScene) record(t *testing.T, key string, v any) forge.Record {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return forge.Record{Key: key, Value: text}
}

func (s *recordScene) has(name string) bool {
	_, err := s.agent.Network(context.Background(), name)
	return err == nil
}

// taken waits until the first host is done with what was written before, and reports
// whether that has its effect. What is allowed (open) has as much time for it as an agent
// needs at all; the status tells of all else.
func (s *recordScene) taken(t *testing.T, record string, open bool, effect func() bool) bool {
	t.Helper()
	if open {
		return within(world.RepairTime, effect)
	}
	s.seen(t)
	if effect() {
		return true
	}
	world.Within(t, world.RepairTime, "the status tells of "+record, func() error {
		st, err := s.agent.Status(t.Context())
		if err == nil && !slices.ContainsFunc(st.Parts, func(p heddle.PartStatus) bool {
			return p.State == "warn" && strings.Contains(p.Detail, record)
		}) {
			err = fmt.Errorf("%+v", st.Parts)
		}
		return err
	})
	return effect()
}

// seen waits until the first host has come to an end with all that was written before. A
// network that is as it should be comes and goes after it: when that is gone, the host has
// begun with all, and an audit waits for what is under way.
func (s *recordScene) seen(t *testing.T) {
	t.Helper()
	s.addresses++
	p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 200, byte(s.addresses), 0}), 24)
	name, drop := s.network(t, heddle.Network{Mode: "overlay", Subnets: []netip.Prefix{p}, Gateways: []netip.Addr{p.Addr().Next()}})
	world.Within(t, world.RepairTime, "the first host has read the record", func() error {
		if !s.has(name) {
			return fmt.Errorf("%s is not there", name)
		}
		return nil
	})
	drop()
	world.Within(t, world.RepairTime, "nothing is under way on the first host", func() error {
		found, err := s.agent.Audit(t.Context())
		if err == nil && slices.ContainsFunc(found, func(f heddle.Finding) bool { return f.Kind == "pending" }) {
			err = fmt.Errorf("%+v", found)
		}
		return err
	})
}

// routed reports whether the first host has a network's subnet.
func (s *recordScene) routed(t *testing.T, subnet string) func() bool {
	return func() bool { return strings.Contains(s.Sh(t, "ip route show table main"), "unreachable "+subnet) }
}

func coverInternet(t *testing.T, s *recordScene, _ string, open bool) bool {
	if open {
		_, _ = s.heddle("host", "ranges", "10.0.0.0/8", "8.0.0.0/8")
		defer s.heddle("host", "ranges", "--default")
	}
	name, drop := s.network(t, heddle.Network{Mode: "overlay", Subnets: []netip.Prefix{netip.MustParsePrefix("8.8.8.0/24")}, Gateways: []netip.Addr{netip.MustParseAddr("8.8.8.1")}})
	defer drop()
	return s.taken(t, name, open, s.routed(t, "8.8.8.0/24"))
}

func coverRoute(t *testing.T, s *recordScene, _ string, open bool) bool {
	if !open {
		s.Sh(t, "ip route add 10.77.0.0/16 dev eth0")
		defer s.Sh(t, "ip route del 10.77.0.0/16 dev eth0")
	}
	name, drop := s.network(t, heddle.Network{Mode: "overlay", Subnets: []netip.Prefix{netip.MustParsePrefix("10.77.7.0/24")}, Gateways: []netip.Addr{netip.MustParseAddr("10.77.7.1")}})
	defer drop()
	return s.taken(t, name, open, s.routed(t, "10.77.7.0/24"))
}

// anyMode writes a network of a mode that no cluster has; allowed is only one of mode
// overlay, which the control writes whatever the mode is.
func anyMode(t *testing.T, s *recordScene, mode string, open bool) bool {
	p := netip.MustParsePrefix("10.78.0.0/24")
	n := heddle.Network{Mode: mode, Parent: "eth0", Subnets: []netip.Prefix{p}, Gateways: []netip.Addr{p.Addr().Next()}}
	switch {
	case open:
		n.Mode, n.Parent = "overlay", ""
	case mode == "direct":
		n.Subnets, n.Gateways, n.Parent, n.Options = nil, nil, "", map[string]string{"nics": "eth0"}
	case mode == "host":
		n.Subnets, n.Gateways, n.Parent = nil, nil, ""
	}
	name, drop := s.network(t, n)
	defer drop()
	return s.taken(t, name, open, func() bool { return s.has(name) })
}

// noAddress has the first host lose a tunnel device after it has read the record: the
// attack succeeds if the address is taken on, or if the device does not come back.
func noAddress(t *testing.T, s *recordScene, _ string, open bool) bool {
	bad := []string{"224.0.0.1", "0.0.0.0", "255.255.255.255", "127.0.0.1", "240.0.0.1", "10.10.0.7", "ff02::1", "::", "fe80::1", "::ffff:192.0.2.1"}
	if open {
		bad = []string{"192.0.2.77"}
	}
	tunnel := strings.TrimSpace(s.Sh(t, "ip -o link show type vxlan | grep -o 'hv4[0-9a-f]*' | head -1"))
	for _, a := range bad {
		h := s.second
		h.Underlay = []netip.Addr{netip.MustParseAddr(a)}
		if err := s.forger.Write(s.record(t, "/heddle/hosts/"+h.Name+"/self", h)); err != nil {
			t.Fatal(err)
		}
		whole := regexp.MustCompile(`(^|[^0-9a-f:.])` + regexp.QuoteMeta(a) + `($|[^0-9a-f:.])`)
		if s.taken(t, "/heddle/hosts/"+h.Name+"/self", open, func() bool {
			return whole.MatchString(s.Sh(t, "bridge fdb show dev %s; ip neigh show dev %s; nft list set inet heddle peers4; nft list set inet heddle peers6", tunnel, tunnel))
		}) {
			t.Logf("%s is taken on", a)
			return true
		}
		s.Sh(t, "ip link del %s", tunnel)
		if !within(world.RepairTime, func() bool { _, err := s.TrySh("ip link show %s", tunnel); return err == nil }) {
			t.Logf("with %s the tunnel's device does not come back", a)
			return true
		}
	}
	return false
}
