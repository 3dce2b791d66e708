package ipvlan_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/mode/ipvlan"
	"github.com/heddle-network/heddle/mode/macvlan"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// node is a host with its agent.
type node struct {
	world.Netns
	*agent.Agent
}

// scene is two nodes on a cloud's network.
type scene struct {
	cloud world.Netns
	nics  map[string]*nic
	nodes map[string]*node
	pods  map[string]*pod
}

// pod is a container on a NIC.
type pod struct {
	world.Netns
	nic   *nic
	addrs []netip.Addr
}

// needIPvlan skips the test on a kernel without ipvlan.
func needIPvlan(t testing.TB) {
	t.Helper()
	cell.Need(t)
	out, err := cell.TrySh("ip link add tryparent type veth peer name tryfar; ip link add link tryparent name try0 type ipvlan; ip link del try0")
	cell.TrySh("ip link del tryparent")
	if err != nil {
		t.Skipf("this kernel has no ipvlan: %s", out)
	}
}

// newScene makes the nodes on a network of the kind given.
func newScene(t testing.TB, cloud func(testing.TB, map[string]*nic) world.Netns) *scene {
	t.Helper()
	needIPvlan(t)
	s := &scene{nics: newNICs(), nodes: map[string]*node{}, pods: map[string]*pod{}}
	for _, name := range []string{"node1", "node2"} {
		s.nodes[name] = &node{Netns: world.NewNetns(t, name)}
	}
	s.cloud = cloud(t, s.nics)
	for name, n := range s.nodes {
		batch, strict := "link set lo up\n", "net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.default.rp_filter=1"
		for _, x := range s.nics {
			if x.node != name {
				continue
			}
			batch += fmt.Sprintf("link set %s up\n", x.link)
			strict += fmt.Sprintf(" net.ipv4.conf.%s.rp_filter=1", x.link)
			if x.own != nil {
				batch += fmt.Sprintf("address add %s/16 dev eth0\naddress add %s/64 dev eth0 nodad\nroute add default via %s\nroute add default via %s\n", x.own[0], x.own[1], gateway4, gateway6)
			}
		}
		n.Sh(t, "ip -batch - <<E\n%sE\nsysctl -qw %s", batch, strict)
		n.start(t)
	}
	for _, n := range s.nodes {
		for _, gateway := range []string{gateway4, gateway6} {
			world.Soon(t, n.Name+" reaches its router", func() error { return n.Netns.Ping(netip.MustParseAddr(gateway), "-W1") })
		}
	}
	return s
}

// start starts the node's agent; at the end of the test it may find nothing left.
func (n *node) start(t testing.TB) {
	t.Helper()
	options := agent.Options{Name: n.Name, StateDir: t.TempDir(), RunDir: t.TempDir(), Root: t.TempDir(), Untried: true,
		Modes: []heddle.Mode{ipvlan.Mode{}, macvlan.Mode{}}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	err := n.Do(func() (err error) {
		n.Agent, err = agent.New(options)
		return err
	})
	if err != nil {
		t.Fatalf("start the agent of %s: %v", n.Name, err)
	}
	t.Cleanup(func() { n.end(t) })
}

func (n *node) end(t testing.TB) {
	var errs []error
	for _, e := range n.Endpoints() {
		_, err := n.Detach(ctx, e.ID)
		errs = append(errs, err)
	}
	for _, x := range n.Networks() {
		errs = append(errs, n.DeleteNetwork(x.Name))
	}
	n.auditEmpty(t)
	if left := n.Sh(t, "ip -o link show type ipvlan; ip rule | grep -v 'from all lookup' || true; tc qdisc show | grep clsact || true"); left != "" {
		t.Errorf("left behind on %s: %s", n.Name, left)
	}
	if err := errors.Join(append(errs, n.Close())...); err != nil {
		t.Errorf("take %s down: %v", n.Name, err)
	}
}

func (n *node) auditEmpty(t testing.TB) {
	t.Helper()
	found, err := n.Audit()
	if err != nil {
		t.Errorf("audit of %s: %v", n.Name, err)
	}
	for _, f := range found {
		t.Errorf("audit of %s: %+v", n.Name, f)
	}
}

// plan is a network on a NIC, which gives out the NIC's addresses.
func (s *scene) plan(name string, options map[string]string) heddle.Network {
	x := s.nics[name]
	return heddle.Network{Name: "on-" + name, Mode: "ipvlan", Parent: x.link, Options: options,
		Subnets:  []netip.Prefix{netip.MustParsePrefix(subnet4), netip.MustParsePrefix(subnet6)},
		Gateways: []netip.Addr{netip.MustParseAddr(gateway4), netip.MustParseAddr(gateway6)},
		Ranges:   []netip.Prefix{netip.PrefixFrom(x.address(0)[0], 24), netip.PrefixFrom(x.address(0)[1], 112)}}
}

// network makes it on the node that has the NIC.
func (s *scene) network(t testing.TB, name string, options map[string]string) heddle.Network {
	t.Helper()
	n, _, err := s.nodes[s.nics[name].node].CreateNetwork(s.plan(name, options), false)
	if err != nil {
		t.Fatalf("create network on NIC %s: %v", name, err)
	}
	return n
}

// pod makes a container on a NIC; it serves at port 8080.
func (s *scene) pod(t testing.TB, name, on string, number int) *pod {
	t.Helper()
	x := s.nics[on]
	p := &pod{Netns: world.NewNetns(t, name), nic: x, addrs: x.address(10 + number)}
	_, err := s.nodes[x.node].Attach(ctx, heddle.AttachRequest{Network: "on-" + on, ID: heddle.EndpointID{Container: name, IfName: "eth0"}, Netns: p.Path, IPs: p.addrs})
	if err != nil {
		t.Fatalf("attach %s: %v", name, err)
	}
	p.Serve(t, 8080, p.addrs...)
	s.pods[name] = p
	return p
}

// populate makes the networks on all NICs, and containers: two on a, one on b and c.
func (s *scene) populate(t testing.TB, options map[string]string) {
	t.Helper()
	for _, name := range []string{"a", "b", "c"} {
		s.network(t, name, options)
	}
	s.pod(t, "a1", "a", 1)
	s.pod(t, "a2", "a", 2)
	s.pod(t, "b1", "b", 1)
	s.pod(t, "c1", "c", 1)
}
