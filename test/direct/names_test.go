package direct_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestNames: a container with a NIC asks at the gateway of another network, and is told the names of
// all its networks, whether the NIC has an address or not. Outer names are asked for it although the
// other network is internal: its NIC leads outside.
func TestNames(t *testing.T) {
	var folders agent.Options
	w := world.New(t, world.Answering(t, &folders), func(o *agent.Options) {
		nobody := netip.AddrPortFrom(world.Outside4, 53) // no name server is there, which is told at once
		o.Forwards = []names.Forward{{Domain: "example", Servers: []netip.AddrPort{nobody}}}
	})
	for i := range 3 {
		name := fmt.Sprintf("nic%d", i)
		cell.Sh(t, "ip link add %s type veth peer name far%d && ip link set far%[2]d up", name, i)
		t.Cleanup(func() { cell.TrySh("ip link del " + name) })
	}
	cell.Sh(t, "ip address add 10.51.0.2/24 dev nic0 && ip address add fd51::2/64 dev nic0 nodad")
	cell.Sh(t, "ip address add 10.51.1.2/24 dev nic1")
	network(t, w, "fast", nil, "nic0", "nic1", "nic2")
	n := w.Network(t, "names", "bridge", func(n *heddle.Network) { n.Internal = true })
	w.Pod(t, "db", "fast", func(r *heddle.AttachRequest) { r.Name, r.Aliases = "db", []string{"store"} })
	other := w.Pod(t, "other", "names", func(r *heddle.AttachRequest) { r.Name = "other" })
	withAddress := w.Pod(t, "with", "fast")
	without := w.Pod(t, "without", "fast", func(r *heddle.AttachRequest) { r.Name = "unknown" })
	if len(without.Endpoint.Addrs) > 0 {
		t.Fatalf("the NIC has %v", without.Endpoint.Addrs)
	}
	for _, asker := range []*world.Pod{withAddress, without} {
		onNames := asker.Join(t, "names", world.As("eth1"))
		for _, at := range n.Gateways {
			says(t, asker, at, "db", dns.TypeA, "10.51.0.2")
			says(t, asker, at, "store.fast", dns.TypeA, "10.51.0.2")
			says(t, asker, at, "db.fast.heddle.internal", dns.TypeAAAA, "fd51::2")
			says(t, asker, at, "2.0.51.10.in-addr.arpa", dns.TypePTR, "db.fast.heddle.internal.")
			says(t, asker, at, "unknown", dns.TypeA, "NXDOMAIN")
			says(t, asker, at, "web.example", dns.TypeA, "SERVFAIL")
		}
		says(t, asker, n.Gateways[0], "other", dns.TypeA, other.V4().String())
		asker.Leave(t)
		says(t, asker, n.Gateways[0], "db", dns.TypeA, "NXDOMAIN")
		says(t, asker, n.Gateways[0], "web.example", dns.TypeA, "REFUSED")
		if _, err := w.Detach(ctx, onNames.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// says waits until a container's question has this answer, by UDP and by TCP.
func says(t *testing.T, p *world.Pod, at netip.Addr, name string, kind uint16, want string) {
	t.Helper()
	for _, network := range []string{"udp", "tcp"} {
		world.Within(t, slowly, fmt.Sprintf("%s is told of %s at %s by %s", p.Name, name, at, network), func() error {
			said, err := world.Resolve(p, network, at, name, kind)
			if err == nil && said != want {
				err = fmt.Errorf("told %s, not %s", said, want)
			}
			return err
		})
	}
}

// TestNoResolvConf: where the host has no address, no file is written, and the refusal says what to do instead.
func TestNoResolvConf(t *testing.T) {
	var folders agent.Options
	w := world.New(t, world.Answering(t, &folders))
	newNIC(t, "lan1", 1)
	before := dump(t, "lan1")
	network(t, w, "fast", nil, "lan1")
	ns := world.NewNetns(t, "c1")
	asking := func(r *heddle.AttachRequest) { r.ResolvConf = true }
	_, err := w.Attach(ctx, w.Request(ns, "fast", asking))
	wantRefused(t, err, heddle.BadOption, "to a network of mode bridge as well, with --ifname eth1 --resolv-conf")
	same(t, "after a refusal", before, func() string { return dump(t, "lan1") })
	_, _, err = w.CreateNetwork(heddle.Network{Name: "hosts", Mode: "host"}, false)
	cell.Must(t, err)
	_, err = w.Attach(ctx, w.Request(ns, "hosts", asking))
	wantRefused(t, err, heddle.BadOption, "asks as the host does")
	n := w.Network(t, "names", "bridge", func(n *heddle.Network) { n.Internal = true })
	w.PodIn(t, ns, "fast").Join(t, "names", world.As("eth1"), asking)
	text, err := os.ReadFile(filepath.Join(folders.Root, "etc/netns/c1/resolv.conf"))
	if err != nil || !strings.Contains(string(text), "nameserver "+n.Gateways[0].String()+"\n") {
		t.Errorf("it has %s, %v", text, err)
	}
	ns.Reaches(t, addr("203.0.113.51")) // by the NIC's own route, as before
}
