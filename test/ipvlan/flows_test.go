package ipvlan_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// flow is a request and its reply, and the hops of both as the cloud sees them: a
// hop is the NIC that sends and the one that receives.
type flow struct {
	name, from, to string
	request, reply string
}

// The hop of a packet that does not leave the node.
const stays = "stays on the node"

// flows are those of containers a1 and a2 on NIC a, b1 on NIC b and c1 on NIC c of
// another node, of the nodes (on their primary NICs) and of services. They are the
// table in docs/modes/ipvlan.md.
var flows = []flow{
	{"container to container, same NIC", "a1", "a2", stays, stays},
	{"container to container, other NIC of the node", "a1", "b1", "a → b", "b → a"},
	{"container to container, other node", "a1", "c1", "a → c", "c → a"},
	{"node to its own container", "node1", "a1", stays, stays},
	{"node to another node's container", "node1", "c1", "primary1 → c", "c → primary1"},
	{"container to its own node", "a1", "node1", stays, stays},
	{"container to another node", "a1", "node2", "a → primary2", "primary2 → a"},
	{"container to service, container on the same NIC", "a1", "service a2", stays, stays},
	{"container to service, container on another NIC of the node", "a1", "service b1", stays, stays},
	{"container to service, container on another node", "a1", "service c1", "primary1 → c", "c → primary1"},
	{"container to a service of its own", "a2", "service a2", stays, stays},
	{"node to service, container of its own", "node1", "service a2", stays, stays},
	{"node to service, container on another node", "node1", "service c1", "primary1 → c", "c → primary1"},
}

// tableOfFlows is the table as the page has it.
func tableOfFlows() string {
	var b strings.Builder
	b.WriteString("| from, to | the request's hops | the reply's hops |\n|---|---|---|\n")
	for _, f := range flows {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", f.name, f.request, f.reply)
	}
	return b.String()
}

// TestPageHasFlows: the page's table is the one that TestFlows compares.
func TestPageHasFlows(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "modes", "ipvlan.md"))
	if err != nil {
		t.Fatal(err)
	}
	if table := tableOfFlows(); !bytes.Contains(page, []byte(table)) {
		t.Errorf("docs/modes/ipvlan.md lacks the table\n%s", table)
	}
}

// TestFlows captures every flow's hops on all ports, of both families, and compares
// them with the table: of a cloud that drops forged addresses, and of a plain switch.
func TestFlows(t *testing.T) {
	t.Run("routed", func(t *testing.T) { follow(t, routedCloud).byFirstNIC(t) })
	t.Run("plain", func(t *testing.T) { follow(t, bridgedCloud) })
}

// follow captures the flows of one cloud.
func follow(t *testing.T, cloud func(testing.TB, map[string]*nic) world.Netns) *scene {
	t.Helper()
	s := newScene(t, cloud)
	s.populate(t, map[string]string{"services": servicePrefixes})
	for _, n := range s.nodes {
		byNftables(t, s, n)
		n.echo(t, 9000, n.own(s)...)
	}
	for _, p := range s.pods {
		p.echo(t, 9000, p.addrs...)
	}
	for _, p := range s.pods { // who has to ask for a MAC address has done so
		for _, to := range s.pods {
			p.Reaches(t, to.addrs...)
		}
	}
	captures := map[string]*world.Capture{}
	for name, x := range s.nics {
		captures[name] = s.cloud.Capture(t, x.port())
	}
	for i, f := range flows {
		for family, to := range s.destination(f.to) {
			if err := ask(s.netns(f.from), to, words("ask", i, family), 5*world.Patience); err != nil {
				t.Errorf("%s: %v", f.name, err)
			}
		}
	}
	frames := map[string][]world.Frame{}
	for name, c := range captures {
		frames[name] = c.Stop()
	}
	for i, f := range flows {
		for family := range 2 {
			if got := hops(frames, words("ask", i, family)); got != f.request {
				t.Errorf("%s, IPv%d: the request's hops are %q, want %q", f.name, 4+2*family, got, f.request)
			}
			if got := hops(frames, words("say", i, family)); got != f.reply {
				t.Errorf("%s, IPv%d: the reply's hops are %q, want %q", f.name, 4+2*family, got, f.reply)
			}
		}
	}
	return s
}

// byFirstNIC leads from the node to b1, on NIC b, through its device on NIC a, as
// Terway's description has it: with the node's address as the source, which the cloud
// has not given to NIC a.
func (s *scene) byFirstNIC(t *testing.T) {
	t.Helper()
	n, slave := s.nodes["node1"], heddle.Slave(heddle.LinkFact{Name: s.nics["a"].link}, "l2").Name
	to := s.pods["b1"].addrs[0]
	n.Sh(t, "ip route add %s dev %s table 77; ip rule add to %[1]s lookup 77 priority 100; conntrack -F 2>/dev/null || true", to, slave)
	defer n.Sh(t, "ip rule del priority 100; ip route flush table 77")
	capture := s.cloud.Capture(t, s.nics["a"].port())
	if err := ask(s.pods["a1"].Netns, s.destination("service b1")[0], "by the first", world.Patience); err == nil {
		t.Error("a service's container on NIC b answers by NIC a's device")
	}
	isRequest := world.Contains("by the first")
	if all := capture.Stop(); world.Count(all, isRequest) == 0 {
		t.Error("the request did not come to the cloud by NIC a")
	}
}

func words(what string, i, family int) string { return fmt.Sprintf("%s<%d.%d>", what, i, family) }

// hops says where frames with the text came into the cloud and where they left it.
func hops(frames map[string][]world.Frame, text string) string {
	var in, out []string
	for name, all := range frames {
		for _, f := range all {
			switch {
			case !bytes.Contains(f.Data, []byte(text)):
			case f.Out:
				out = append(out, name)
			default:
				in = append(in, name)
			}
		}
	}
	if in == nil && out == nil {
		return stays
	}
	slices.Sort(in)
	slices.Sort(out)
	return strings.Join(in, "+") + " → " + strings.Join(out, "+")
}

func (s *scene) netns(name string) world.Netns {
	if n, ok := s.nodes[name]; ok {
		return n.Netns
	}
	return s.pods[name].Netns
}

// own are the node's addresses.
func (n *node) own(s *scene) []netip.Addr {
	return s.nics["primary"+strings.TrimPrefix(n.Name, "node")].own
}

// destination is what a name stands for, IPv4 first.
func (s *scene) destination(name string) []netip.AddrPort {
	var addrs []netip.Addr
	port := uint16(9000)
	if backend, ok := strings.CutPrefix(name, "service "); ok {
		addrs, port = service(backend), 90
	} else if n, ok := s.nodes[name]; ok {
		addrs = n.own(s)
	} else {
		addrs = s.pods[name].addrs
	}
	return []netip.AddrPort{netip.AddrPortFrom(addrs[0], port), netip.AddrPortFrom(addrs[1], port)}
}

// echo answers datagrams that ask with the same words that say.
func (n *node) echo(t testing.TB, port uint16, at ...netip.Addr) { echo(t, n.Netns, port, at...) }
func (p *pod) echo(t testing.TB, port uint16, at ...netip.Addr)  { echo(t, p.Netns, port, at...) }

func echo(t testing.TB, p world.Netns, port uint16, at ...netip.Addr) {
	t.Helper()
	for _, a := range at {
		var c *net.UDPConn
		err := p.Do(func() (err error) {
			c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(a, port)))
			return err
		})
		if err != nil {
			t.Fatalf("listen in %s: %v", p.Name, err)
		}
		t.Cleanup(func() { c.Close() })
		go func() {
			buffer := make([]byte, 200)
			for {
				n, from, err := c.ReadFromUDPAddrPort(buffer)
				if err != nil {
					return
				}
				c.WriteToUDPAddrPort(bytes.Replace(buffer[:n], []byte("ask"), []byte("say"), 1), from)
			}
		}()
	}
}

// ask sends one datagram and waits for the answer.
func ask(p world.Netns, to netip.AddrPort, text string, limit time.Duration) error {
	var c net.Conn
	err := p.Do(func() (err error) {
		c, err = net.Dial("udp", to.String())
		return err
	})
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(limit))
	if _, err := c.Write([]byte(text)); err != nil {
		return err
	}
	buffer := make([]byte, 200)
	_, err = c.Read(buffer)
	return err
}

// TestRefusedHere: where the kernel has no ipvlan, a network is refused with what
// the kernel said, and nothing is made.
func TestRefusedHere(t *testing.T) {
	cell.Need(t)
	if _, err := cell.TrySh("ip link add tryparent type veth peer name tryfar; ip link add link tryparent name try0 type ipvlan; ip link del try0"); err == nil {
		t.Skip("this kernel has ipvlan")
	}
	cell.TrySh("ip link del tryparent")
	a := cell.Start(t, t.TempDir())
	cell.Sh(t, "ip link add up0 type veth peer name far0; ip address add 192.0.2.1/24 dev up0; ip link set up0 up; ip link set far0 up; ip route add default via 192.0.2.2")
	t.Cleanup(func() { cell.TrySh("ip link del up0") })
	_, _, err := a.CreateNetwork(ctx, heddle.Network{Name: "n", Mode: "ipvlan", Parent: "up0"}, false)
	if !errors.Is(err, heddle.NotOnKernel.Sentinel()) || !strings.Contains(fmt.Sprint(err), "ipvlan") {
		t.Errorf("got %v, want %s about ipvlan", err, heddle.NotOnKernel)
	}
	t.Log(err)
	a.AuditEmpty(t)
}
