package kernel

import (
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/routed"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// cable is a machine with an uplink and NICs on another network, of which it has no other address; its containers have addresses of the NICs.
//
//	containers ── machine ── up0 ═══ eth0 of away (192.0.2.2)
//	                      ── nic0, nic1 ═══ br0 of lan (198.51.100.1) ═══ eth0 of beside (198.51.100.200)
type cable struct {
	*room
	lan, beside, away string
	network           heddle.Network
	plans             map[string]heddle.Plan
	pods              map[string]string
}

var (
	cableNets  = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8:1::/64")}
	cableNears = []string{"198.51.100.1", "2001:db8:1::1", "198.51.100.200", "2001:db8:1::200", "203.0.113.9", "2001:db8:f::9", "192.0.2.1", "2001:db8:2::1"}
)

func newCable(t *testing.T) *cable {
	c := &cable{room: newRoom(t), lan: newNetns(t, "lan"), beside: newNetns(t, "beside"), away: newNetns(t, "away"), plans: map[string]heddle.Plan{}, pods: map[string]string{}}
	c.sh(`sysctl -qw net.ipv4.conf.all.rp_filter=2
		ip link set lo up; ip -n LAN link set lo up
		ip -n LAN link add br0 type bridge; ip -n LAN link set br0 up; ip -n LAN address add 198.51.100.1/24 dev br0; ip -n LAN address add 2001:db8:1::1/64 dev br0 nodad
		for a in 203.0.113.9/32 100.100.100.200/32 2001:db8:f::9/128 fd00:100::100:200/128; do ip -n LAN address add $a dev lo; done
		for i in 0 1; do ip link add nic$i type veth peer name p$i netns LAN; ip -n LAN link set p$i master br0 up; done
		ip -n BESIDE link add eth0 type veth peer name p2 netns LAN; ip -n LAN link set p2 master br0 up
		ip -n BESIDE link set eth0 up; ip -n BESIDE address add 198.51.100.200/24 dev eth0; ip -n BESIDE address add 2001:db8:1::200/64 dev eth0 nodad
		ip -n BESIDE route add 192.0.2.1/32 dev eth0
		ip link add up0 type veth peer name eth0 netns AWAY; ip link set up0 up group 5; ip -n AWAY link set eth0 up
		ip address add 192.0.2.1/24 dev up0; ip address add 2001:db8:2::1/64 dev up0 nodad
		ip -n AWAY address add 192.0.2.2/24 dev eth0; ip -n AWAY address add 2001:db8:2::2/64 dev eth0 nodad
		ip route add default via 192.0.2.2; ip route add default via 2001:db8:2::2
		ip -n AWAY route add default via 192.0.2.1; ip -n AWAY route add default via 2001:db8:2::1
		for a in 203.0.113.7/32 2001:db8:f::7/128; do ip -n AWAY address add $a dev eth0; done`)
	c.network = heddle.Network{ID: "00000000000000aa", Name: "pods", Mode: "routed", MTU: 1500, Subnets: cableNets, Options: map[string]string{"plug": "lan"}}
	cell.Must(t, routed.Mode{}.Check(heddle.HostFacts{}, c.network))
	var err error
	c.plans[""], err = routed.Mode{}.Network(heddle.HostFacts{}, c.network)
	cell.Must(t, err)
	c.apply(c.plans[""])
	return c
}

// sh runs a script on the machine. LAN, BESIDE and AWAY are the other namespaces.
func (c *cable) sh(script string) string {
	c.t.Helper()
	return c.room.sh(strings.NewReplacer("LAN", c.lan, "BESIDE", c.beside, "AWAY", c.away).Replace(script))
}

// attach gives a container the addresses that end with a number, of a NIC.
func (c *cable) attach(name string, nic, last int) []string {
	c.t.Helper()
	c.pods[name] = newNetns(c.t, name)
	mac, err := heddle.ParseMAC(strings.TrimSpace(c.sh(fmt.Sprintf("cat /sys/class/net/nic%d/address", nic))))
	cell.Must(c.t, err)
	addrs := func(last int) []netip.Prefix {
		return []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("198.51.100.%d/24", last)), netip.MustParsePrefix(fmt.Sprintf("2001:db8:1::%d/64", last))}
	}
	id := heddle.EndpointID{Container: name, IfName: "eth0"}
	plan, err := routed.Mode{}.Endpoint(heddle.HostFacts{}, c.network, heddle.Endpoint{ID: id, Network: c.network.ID, MTU: 1500, MAC: id.DefaultMAC(c.network.ID, 0),
		Addrs: addrs(last), DefaultRoute: true, Ports: []heddle.PortMapping{{HostPort: uint16(8000 + last), ContainerPort: 80, Protocol: "tcp"}},
		Parent: &heddle.ParentNIC{Name: fmt.Sprint("nic", nic), MAC: mac, MTU: 1500, Gateways: []netip.Addr{netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("2001:db8:1::1")},
			Closed: []netip.Prefix{netip.MustParsePrefix("100.100.100.200/32"), netip.MustParsePrefix("fd00:100::100:200/128")},
			Routed: &heddle.RoutedNIC{Addrs: addrs(10 + nic), Table: heddle.ParentTables + nic}}})
	cell.Must(c.t, err)
	c.plans[name] = plan
	_, err = c.k.Apply(plan, openNetns(c.t, c.pods[name]))
	cell.Must(c.t, err)
	return []string{addrs(last)[0].Addr().String(), addrs(last)[1].Addr().String()}
}

func (c *cable) detach(name string) {
	c.t.Helper()
	gone := c.plans[name]
	delete(c.plans, name)
	cell.Must(c.t, c.k.Remove(gone, nil, func(key string) bool {
		for _, p := range c.plans {
			for _, o := range p.Host.Objects() {
				if o.Key() == key {
					return true
				}
			}
		}
		return false
	}))
}

// pings reports whether all addresses answer; from is a namespace. With as, the echo requests have that source.
func pings(from, as string, to ...string) error {
	for _, a := range to {
		args := []string{"netns", "exec", from, "ping", "-n", "-c1", "-W5", a}
		if as != "" {
			args = []string{"netns", "exec", from, "ping", "-n", "-c1", "-W0.3", "-I", as, a} // which is to be dropped
		}
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %s", a, out)
		}
	}
	return nil
}

// silentTo fails the test if one of the addresses answers.
func (c *cable) silentTo(from string, to ...string) {
	c.t.Helper()
	var all sync.WaitGroup
	for _, a := range to {
		all.Go(func() {
			if out, err := exec.Command("ip", "netns", "exec", from, "ping", "-n", "-c1", "-W1", a).CombinedOutput(); err == nil {
				c.t.Errorf("%s answers: %s", a, out)
			}
		})
	}
	all.Wait()
}

// TestSharedNIC: containers with addresses of NICs that stay on the machine. The network is a plain bridge, which answers for nobody.
func TestSharedNIC(t *testing.T) {
	c := newCable(t)
	before := c.sh("ip rule; ip -6 rule; ip neighbour show proxy; ip -6 neighbour show proxy")
	all := map[string][]string{"a": c.attach("a", 0, 21), "b": c.attach("b", 0, 22), "z": c.attach("z", 1, 23)}
	for name, own := range all {
		for other, to := range all {
			if other != name {
				cell.Must(t, pings(c.pods[name], "", to...))
			}
		}
		cell.Must(t, pings(c.pods[name], "", cableNears...))
		cell.Must(t, pings(c.host, "", own...))
		cell.Must(t, pings(c.beside, "", own...))
		c.silentTo(c.pods[name], "203.0.113.7", "100.100.100.200", "fd00:100::100:200") // the host's default route leads to the first
	}
	cell.Must(t, pings(c.pods["a"], "", "198.51.100.10", "2001:db8:1::10", "198.51.100.11", "2001:db8:1::11"))
	c.silentTo(c.beside, "198.51.100.10", "2001:db8:1::10")
	if out := c.sh("ip -s neighbour show nud failed dev nic0; ip -n AWAY -s neighbour"); strings.Contains(out, "198.51.100") {
		t.Errorf("packets of containers came to the uplink, or were lost: %s", out)
	}
	c.published()
	c.answersNobodyElse()
	c.strangers()
	c.keptToTheirOwn()

	c.sh("ip link set nic0 down") // nothing leaves by the uplink instead
	c.silentTo(c.pods["a"], "203.0.113.7", "2001:db8:f::7")
	c.sh("ip link set nic0 up")
	c.apply(heddle.Plan{Host: c.plans["a"].Host})
	cell.Must(t, pings(c.pods["a"], "", cableNears...))

	c.detach("b")
	c.silentTo(c.beside, all["b"]...)
	cell.Must(t, pings(c.pods["a"], "", cableNears...))
	c.detach("a")
	c.detach("z")
	if after := c.sh("ip rule; ip -6 rule; ip neighbour show proxy; ip -6 neighbour show proxy"); after != before {
		t.Errorf("left after the last container:\n%s\nbefore:\n%s", after, before)
	}
	if out := c.sh("ip address show dev nic0; ip route show table all dev nic0"); strings.Contains(out, "198.51.100.") {
		t.Errorf("left on the NIC: %s", out)
	}
	c.detach("")
	if o, err := c.k.Ours(); err != nil || !o.State.Empty() {
		t.Errorf("left: %v, %v", o.Keys(), err)
	}
}

// published: a published port is open at the NIC's first address, also for those on its network.
func (c *cable) published() {
	c.t.Helper()
	var l net.Listener
	cell.Must(c.t, openNetns(c.t, c.pods["a"]).Do(func() (err error) {
		l, err = net.Listen("tcp", ":80")
		return err
	}))
	defer l.Close()
	for _, from := range []string{c.beside, c.host} {
		for _, a := range []string{"198.51.100.10:8021", "[2001:db8:1::10]:8021"} {
			cell.Must(c.t, openNetns(c.t, from).Do(func() error {
				conn, err := net.DialTimeout("tcp", a, 5*time.Second)
				if err == nil {
					conn.Close()
				}
				return err
			}))
		}
	}
}

// answersNobodyElse: on the NIC the machine answers for its own address there and for those of containers, and takes what is for these alone.
func (c *cable) answersNobodyElse() {
	c.t.Helper()
	c.silentTo(c.beside, "198.51.100.77", "2001:db8:1::77", "192.0.2.1")
	for _, a := range []string{"198.51.100.77", "2001:db8:1::77", "192.0.2.1"} {
		if out := c.sh("ip -n BESIDE neighbour show " + a); strings.Contains(out, "lladdr") {
			c.t.Errorf("the machine answers for %s: %s", a, out)
		}
	}
	c.sh(fmt.Sprintf("ip -6 route delete default via 2001:db8:1::1 table %d", heddle.ParentTables)) // no way leads to the link-local address that asks
	for _, a := range []string{"198.51.100.21", "2001:db8:1::21"} {                                 // whoever knows an address asks it alone, before he asks all
		c.sh("ip -n BESIDE neighbour change " + a + " dev eth0 nud probe")
		_, err := poll.Until(10*time.Second, 50*time.Millisecond, func() error {
			if out := c.sh("ip -n BESIDE neighbour show " + a); !strings.Contains(out, "REACHABLE") {
				return fmt.Errorf("%s", out)
			}
			return nil
		})
		if err != nil {
			c.t.Errorf("a question to %s alone has no answer: %v", a, err)
		}
	}
	c.apply(heddle.Plan{Host: c.plans["a"].Host})
}

// strangers are those on the NICs' network who send to a NIC's MAC address what is not for it: for the machine's other addresses and those behind it, for a container on
// another NIC, and with a container's address.
func (c *cable) strangers() {
	c.t.Helper()
	c.sh("for a in 198.51.100.22/32 2001:db8:1::22/128; do ip -n BESIDE address add $a dev lo nodad; done")
	for _, x := range []struct {
		to, as string
		by     int
	}{{"192.0.2.1", "", 0}, {"2001:db8:2::1", "", 0}, {"192.0.2.2", "", 0}, {"2001:db8:2::2", "", 0}, {"198.51.100.21", "", 1}, {"2001:db8:1::21", "", 1},
		{"198.51.100.21", "198.51.100.22", 0}, {"2001:db8:1::21", "2001:db8:1::22", 0}} {
		c.sh(fmt.Sprintf("ip -n BESIDE route replace %s dev eth0; ip -n BESIDE neighbour replace %s lladdr $(cat /sys/class/net/nic%d/address) dev eth0", x.to, x.to, x.by))
		before := c.sh("nft list counter inet heddle isolated")
		as := x.as
		if as == "" {
			as = "eth0"
		}
		if pings(c.beside, as, x.to) == nil || c.sh("nft list counter inet heddle isolated") == before {
			c.t.Errorf("what a stranger sends by nic%d to %s as %s passes, or nothing was counted", x.by, x.to, as)
		}
		c.sh(fmt.Sprintf("ip -n BESIDE neighbour delete %s dev eth0; ip -n BESIDE route delete %s dev eth0", x.to, x.to))
	}
	before := c.sh("nft list counter inet heddle isolated")
	if err := pings(c.beside, "eth0", "ff02::1"); err != nil || c.sh("nft list counter inet heddle isolated") != before {
		c.t.Errorf("multicast from a link-local address, as of routers and switches, is dropped: %v", err)
	}
	c.sh("for a in 198.51.100.22/32 2001:db8:1::22/128; do ip -n BESIDE address delete $a dev lo; done; ip -n BESIDE route replace 192.0.2.1/32 dev eth0")
}

// keptToTheirOwn: a container with an address of its neighbour on the NIC, of the NIC itself, of another NIC or of nobody is dropped on the machine.
func (c *cable) keptToTheirOwn() {
	c.t.Helper()
	for _, as := range []string{"198.51.100.22", "198.51.100.10", "198.51.100.23", "198.51.100.77", "2001:db8:1::22", "2001:db8:1::10", "2001:db8:1::77"} {
		length, near := "/32", "198.51.100.200"
		if strings.Contains(as, ":") {
			length, near = "/128 nodad", "2001:db8:1::200"
		}
		before := c.dropped()
		c.sh("ip -n " + c.pods["a"] + " address add " + as + length + " dev eth0")
		if pings(c.pods["a"], as, near) == nil || c.dropped() == before {
			c.t.Errorf("a packet from %s passed, or nothing was counted", as)
		}
		c.sh("ip -n " + c.pods["a"] + " address delete " + strings.TrimSuffix(as+length, " nodad") + " dev eth0")
	}
}

// dropped is how many packets had another's source.
func (c *cable) dropped() string {
	c.t.Helper()
	return c.sh("nft list counter inet heddle spoofed-ip")
}

// TestProxyOfOthers: an answer that somebody else has the host give is not taken over, and stays.
func TestProxyOfOthers(t *testing.T) {
	r := newRoom(t)
	r.sh("ip link add nic0 type veth peer name far; ip neighbour add proxy 198.51.100.21 dev nic0")
	own := heddle.Plan{Host: heddle.State{Proxies: []heddle.Proxy{{Link: "nic0", Addr: netip.MustParseAddr("198.51.100.22")}}}}
	others := heddle.Plan{Host: heddle.State{Proxies: []heddle.Proxy{{Link: "nic0", Addr: netip.MustParseAddr("198.51.100.21")}}}}
	r.apply(own)
	if _, err := r.k.Apply(others, nil); err == nil || !strings.Contains(err.Error(), "not ours") {
		t.Errorf("it was taken over: %v", err)
	}
	if o, err := r.k.Ours(); err != nil || len(o.State.Proxies) != 1 || o.State.Proxies[0] != own.Host.Proxies[0] {
		t.Errorf("ours are %v, %v", o.Keys(), err)
	}
	if diff, err := r.k.Diff(others, nil); err != nil || len(diff) != 1 {
		t.Errorf("somebody else's counts as ours: %v, %v", diff, err)
	}
	if _, err := r.k.Prune(func(string) bool { return false }); err != nil {
		t.Error(err)
	}
	if out := r.sh("ip neighbour show proxy"); !strings.Contains(out, "198.51.100.21") || strings.Contains(out, "198.51.100.22") {
		t.Errorf("the entries are %s", out)
	}
}
