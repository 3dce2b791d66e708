package direct_test

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestRefused asks for NICs that cannot be given away, and finds everything
// untouched.
func TestRefused(t *testing.T) {
	w := world.New(t)
	cell.Sh(t, `ip link add slave0 type veth peer name slave1; ip link add br7 type bridge; ip link set slave0 master br7
		ip link add lower0 type veth peer name lower1; ip link add link lower0 name upper0 type macvlan
		ip link add shaped0 type veth peer name shaped1; tc qdisc add dev shaped0 root handle 1: tbf rate 1mbit burst 4kb latency 9ms
		ip link add multi0 type veth peer name multi1; ip link set multi0 up; ip link set multi1 up
		ip address add 10.80.0.1/24 dev multi0; ip address add 10.81.0.1/24 dev multi1
		ip route add 10.82.0.0/24 nexthop via 10.80.0.9 dev multi0 nexthop via 10.81.0.9 dev multi1
		ip link add par0 type veth peer name par1; ip link set par0 up`)
	t.Cleanup(func() {
		for _, name := range []string{"br7", "slave0", "upper0", "lower0", "shaped0", "multi0", "par0"} {
			cell.TrySh("ip link del %s", name)
		}
	})
	newNIC(t, "nic1", 1)
	_, _, err := w.CreateNetwork(heddle.Network{Name: "bridged", Mode: "bridge", Subnets: prefixes("10.90.0.0/24"), Parent: "par0"}, false)
	cell.Must(t, err)
	own := w.Network(t, "owned", "routed")
	port := w.Pod(t, "c9", own.Name).Port()
	ns := world.NewNetns(t, "c1")
	look := func() string {
		return dump(t, "nic1") + cell.Sh(t, `ip route | sed 's/ linkdown//'; ip link | grep -o '^[0-9]*: [^:]*'; ip link | grep alias || true`)
	}
	before := look()
	attach := func(nic string, change func(*heddle.AttachRequest)) error {
		req := w.Request(ns, "pool")
		req.NIC = nic
		if change != nil {
			change(&req)
		}
		_, err := w.Attach(ctx, req)
		return err
	}
	network(t, w, "pool", nil, "lo", "br7", "slave0", "lower0", "shaped0", "multi0", "par0", "up0", "nic1")
	for _, c := range []struct {
		nic    string
		code   heddle.Code
		words  string
		change func(*heddle.AttachRequest)
	}{
		{"lo", heddle.NICUnfit, "no Ethernet address", nil},
		{"br7", heddle.NICUnfit, "it is a bridge", nil},
		{"slave0", heddle.NICUnfit, "belongs to another interface (br7)", nil},
		{"lower0", heddle.NICUnfit, "upper0 stands on it", nil},
		{"shaped0", heddle.NICUnfit, "queueing discipline of its own (tbf)", nil},
		{"multi0", heddle.NICUnfit, "several next hops", nil},
		{"par0", heddle.NICNeeded, "parent of network bridged", func(q *heddle.AttachRequest) { q.Force = true }},
		{"up0", heddle.NICNeeded, "default route", nil},
		{"nic1", heddle.NICNeeded, "SSH connection to 10.51.0.4", func(q *heddle.AttachRequest) { q.SSH = addr("10.51.0.4") }},
		{"nic1", heddle.NICNeeded, "SSH connection to fd51::3", func(q *heddle.AttachRequest) { q.SSH = addr("fd51::3") }},
		{"nic1", heddle.BadPort, "does not see the traffic", func(q *heddle.AttachRequest) {
			q.Ports = []heddle.PortMapping{{HostPort: 80, ContainerPort: 80, Protocol: "tcp"}}
		}},
		{"nic1", heddle.BadOption, "has no subnet", func(q *heddle.AttachRequest) { q.IPs = append(q.IPs, addr("10.51.0.9")) }},
		{"nic1", heddle.BadArgument, "keeps its MAC", func(q *heddle.AttachRequest) { q.MAC = "02:00:00:00:00:99" }},
		{"nic2", heddle.BadArgument, "name a NIC of the network: lo, br7", nil},
		{"nic1", heddle.IfNameTaken, "--ifname", func(q *heddle.AttachRequest) { ns.Sh(t, "ip link add eth0 type veth peer name x0") }},
	} {
		wantRefused(t, attach(c.nic, c.change), c.code, c.words)
	}
	ns.Sh(t, "ip link del eth0")
	same(t, "after all refusals", before, look)
	for _, c := range []struct {
		n     heddle.Network
		words string
	}{
		{heddle.Network{}, "--parent"},
		{heddle.Network{Parent: "nic1", Internal: true}, "--internal"},
		{heddle.Network{Parent: "nic1", MTU: 1400}, "--mtu"},
		{heddle.Network{Parent: "nic9"}, "ip link"},
		{heddle.Network{Parent: "nic1", Options: map[string]string{"nics": "02:00:00:00:01:01"}}, "each NIC once"},
		{heddle.Network{Parent: port}, "ip link"},
		{heddle.Network{Parent: "nic1", Subnets: prefixes("10.77.0.0/24")}, "--gateway"},
	} {
		c.n.Name, c.n.Mode = "bad", "direct"
		if _, _, err := w.CreateNetwork(c.n, false); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("network %+v: got %v, want an error about %q", c.n, err, c.words)
		}
	}
	// without a wish, the first that fits is taken
	cell.Must(t, attach("", nil))
	if e := w.Endpoints(); len(e) != 2 || e[0].NIC == nil || e[0].NIC.Name != "nic1" {
		t.Errorf("endpoints %+v", e)
	}
	_, err = w.Detach(ctx, heddle.EndpointID{Container: "c1", IfName: "eth0"})
	cell.Must(t, err)
	// by force, the NIC of the SSH connection goes
	cell.Must(t, attach("nic1", func(q *heddle.AttachRequest) { q.SSH, q.Force = addr("10.51.0.4"), true }))
	wantRefused(t, attach("", func(q *heddle.AttachRequest) { q.ID.IfName = "eth1" }), heddle.NICTaken, "br7: it is a bridge, not a NIC, slave0: it belongs")
}

// TestSeveral gives one container several NICs, by each way to name one, and
// refuses what would not fit together.
func TestSeveral(t *testing.T) {
	w := world.New(t)
	lan := map[string]world.Netns{}
	before := map[string]string{}
	for i, name := range []string{"nic1", "nic2", "nic3"} {
		lan[name] = newNIC(t, name, i+1)
		before[name] = dump(t, name)
	}
	network(t, w, "pool", nil, "nic1", "02:00:00:00:02:01", "nic3")
	ns := world.NewNetns(t, "c1")
	attach := func(ifname string, change func(*heddle.AttachRequest)) (heddle.Endpoint, error) {
		req := w.Request(ns, "pool")
		req.ID.IfName = ifname
		if change != nil {
			change(&req)
		}
		reply, err := w.Attach(ctx, req)
		return reply.Endpoint, err
	}
	one, err := attach("eth0", func(q *heddle.AttachRequest) { q.MAC = "02:00:00:00:03:01" })
	cell.Must(t, err)
	two, err := attach("eth1", nil)
	cell.Must(t, err)
	three, err := attach("eth2", func(q *heddle.AttachRequest) { q.NIC = "02:00:00:00:02:01" })
	cell.Must(t, err)
	for e, nic := range map[*heddle.Endpoint]string{&one: "nic3", &two: "nic1", &three: "nic2"} {
		if e.NIC.Name != nic || e.DefaultRoute != (nic == "nic3") {
			t.Errorf("%s got %s (default route %v), want %s", e.ID, e.NIC.Name, e.DefaultRoute, nic)
		}
	}
	ns.Reaches(t, addr("10.51.0.1"), addr("10.52.0.1"), addr("10.53.0.1"), addr("fd51::1"), addr("fd52::1"), addr("fd53::1"))
	if out := ns.Sh(t, "ip route show default"); strings.Count(out, "default") != 1 || !strings.Contains(out, "eth0") {
		t.Errorf("default routes: %s", out)
	}
	_, err = attach("eth3", nil)
	wantRefused(t, err, heddle.NICTaken, "nic1 is with c1/eth1, 02:00:00:00:02:01 is with c1/eth2")

	// an endpoint that would overlap is refused before anything is touched
	_, _, err = w.CreateNetwork(heddle.Network{Name: "over", Mode: "bridge", Subnets: prefixes("10.63.5.0/24")}, false)
	cell.Must(t, err)
	req := w.Request(ns, "over")
	req.ID.IfName = "eth4"
	_, err = w.Attach(ctx, req)
	wantRefused(t, err, heddle.RoutesClash, "overlap")
	for _, e := range []heddle.Endpoint{two, one, three} {
		_, err := w.Detach(ctx, e.ID)
		cell.Must(t, err)
	}
	for name, text := range before {
		same(t, "after the detach of "+name, text, func() string { return dump(t, name) })
	}
}

// TestNameTaken brings a NIC back to a host where its name and number are
// somebody else's by now.
func TestNameTaken(t *testing.T) {
	w := world.New(t)
	lan := newNIC(t, "nic1", 1)
	network(t, w, "lan", nil, "nic1")
	pod := w.PodIn(t, world.NewNetns(t, "c1"), "lan")
	cell.Sh(t, "ip link add nic1 index 501 type veth peer name other1")
	pod.Leave(t)
	found, err := w.Audit()
	cell.Must(t, err)
	const name = "hn020000000101"
	if len(found) != 1 || found[0].Object != "nic/"+name || !strings.Contains(found[0].Detail, "it was nic1") {
		t.Errorf("audit: %+v", found)
	}
	lan.Reaches(t, addr("10.51.0.2"), addr("fd51::2"))
	cell.Sh(t, "ip address show dev %s | grep 10.51.0.4; ip route | grep '198.18.1.0/24.*%s'; test $(cat /proc/sys/net/ipv4/conf/%s/rp_filter) = 2", name, name, name)
	cell.Sh(t, "ip link del nic1; ip link set %s down; ip link set %s name nic1; ip link set nic1 alias ''", name, name)
	w.AuditEmpty(t)
}
