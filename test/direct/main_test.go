// Package direct_test gives containers real interfaces of the host and looks at
// them before and after: name, index, addresses, routes in every table,
// neighbours, settings. Whatever happens in between (the container dies, the
// agent dies, both), nothing may be another.
package direct_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// init keeps the process's first thread for the test's main: /proc/PID/ns/net is
// that thread's, and must not be wherever a test works just now.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

var ctx = context.Background()

// slowly is how long what is waited for may take, on a busy machine or where the
// processor is emulated.
var slowly = time.Minute * min(world.Slowness, 5)

// wantRefused fails the test unless the error has the code and says the words.
func wantRefused(t *testing.T, err error, code heddle.Code, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), string(code)) || !strings.Contains(err.Error(), words) {
		t.Errorf("got %v, want %s about %q", err, code, words)
	}
}

// newNIC makes an interface as a host may have one, with all that a move takes
// away. Its LAN is a namespace with a neighbour on it.
func newNIC(t testing.TB, name string, number int) (lan world.Netns) {
	t.Helper()
	lan = world.NewNetns(t, "lan-"+name)
	sh(t, name, number, `ip link add NAME index 50NUM address 02:00:00:00:0NUM:01 mtu 1450 txqueuelen 777 type veth peer name lan0 netns lan-NAME address 02:00:00:00:0NUM:02
		ip -n lan-NAME link set lan0 mtu 1450 up
		ip -n lan-NAME address add 10.5NUM.0.1/24 dev lan0; ip -n lan-NAME address add fd5NUM::1/64 dev lan0 nodad
		ip -n lan-NAME address add 203.0.113.5NUM/32 dev lo; ip -n lan-NAME link set lo up`)
	furnishNIC(t, name, number)
	t.Cleanup(func() { cell.TrySh("ip link del " + name) })
	return lan
}

// furnishNIC gives an interface what a busy administrator may have given it.
func furnishNIC(t testing.TB, name string, number int) {
	t.Helper()
	sh(t, name, number, `
		sysctl -qw net/ipv4/conf/NAME/rp_filter=2 net/ipv4/conf/NAME/arp_ignore=1 net/ipv6/conf/NAME/accept_ra=0
		sysctl -qw net/ipv4/neigh/NAME/base_reachable_time_ms=45000 net/ipv6/neigh/NAME/ucast_solicit=5 net/ipv6/conf/NAME/hop_limit=77
		ip link set NAME alias 'the third socket' group 7 promisc on
		ip link property add dev NAME altname thirdNUM
		ip address add 10.5NUM.0.2/24 brd + dev NAME
		ip address add 10.5NUM.0.3/24 dev NAME
		ip address add 10.5NUM.0.4/24 dev NAME label NAME:web
		ip address add 192.168.5NUM.1 peer 192.168.5NUM.2/32 dev NAME
		ip address add 10.6NUM.0.1/16 dev NAME noprefixroute
		ip address add 10.7NUM.0.1/16 dev NAME valid_lft 9000 preferred_lft 8000
		ip link set NAME up
		ip address add fd5NUM::2/64 dev NAME nodad
		ip address add fd5NUM::3/64 dev NAME
		ip address add fd6NUM::1/128 dev NAME nodad preferred_lft 0`)
	settled(t, name)
	sh(t, name, number, `
		ip route add 203.0.113.5NUM via 10.5NUM.0.1 dev NAME src 10.5NUM.0.3 metric 50 mtu 1300
		ip route add 198.18.NUM.0/24 via 10.5NUM.0.1 dev NAME advmss 1000 initcwnd 20 proto static
		ip route add 198.19.NUM.0/24 dev NAME scope link proto 99
		ip route add 198.20.NUM.0/24 via 172.16.0.1 dev NAME onlink
		ip route add default via 10.5NUM.0.1 dev NAME table 5NUM
		ip route add 198.51.NUM.0/24 dev NAME table 70000NUM
		ip route add default via 10.5NUM.0.1 dev NAME metric 9000NUM
		ip route add local 192.0.0.NUM dev NAME proto static table local
		ip -6 route add fd7NUM::/64 via fd5NUM::1 dev NAME metric 20 mtu 1400
		ip -6 route add fd8NUM::/64 via fd5NUM::1 dev NAME src fd5NUM::3 table 5NUM
		ip -6 route add default via fd5NUM::1 dev NAME metric 9000NUM pref high
		ip neigh add 10.5NUM.0.77 lladdr 02:00:00:00:77:0NUM dev NAME nud permanent
		ip neigh add fd5NUM::77 lladdr 02:00:00:00:77:0NUM dev NAME nud permanent
		ip neigh add proxy 10.5NUM.0.88 dev NAME; ip -6 neigh add proxy fd5NUM::88 dev NAME`)
	settled(t, name)
	// The kernel adds the local routes of IPv6 addresses later, at its leisure.
	world.Within(t, slowly, "local routes of "+name, func() error {
		addresses := strings.Count(sh(t, name, number, "ip -6 -o address show dev NAME"), "\n")
		routes := strings.Count(sh(t, name, number, "ip -6 route show table local type local dev NAME"), "\n")
		if addresses != routes {
			return fmt.Errorf("%d of %d", routes, addresses)
		}
		return nil
	})
}

// sh runs a script about an interface on the host.
func sh(t testing.TB, name string, number int, script string) string {
	t.Helper()
	return cell.Sh(t, "%s", strings.NewReplacer("NAME", name, "NUM", fmt.Sprint(number)).Replace(script))
}

// settled waits until no address is tentative any more.
func settled(t testing.TB, name string) {
	t.Helper()
	world.Within(t, slowly, "addresses of "+name, func() error {
		if out, err := cell.TrySh("ip -6 address show dev %s tentative", name); err != nil || out != "" {
			return fmt.Errorf("%v %s", err, out)
		}
		return nil
	})
}

// dump is all that the system's tools say about an interface.
func dump(t testing.TB, name string) string {
	t.Helper()
	settled(t, name)
	out := sh(t, name, 0, `
		ip -j -d -p link show dev NAME; ip -j -p address show dev NAME
		ip -j -p -d route show table all dev NAME; ip -j -p -d -6 route show table all dev NAME
		for kind in "nud permanent" proxy; do ip -4 neigh show $kind dev NAME | sort; ip -6 neigh show $kind dev NAME | sort; done
		tc -j -p qdisc show dev NAME; ethtool -k NAME
		cd /proc/sys/net; grep -s '' ipv[46]/*/NAME/* || true`)
	return moving.ReplaceAllString(out, "")
}

// moving is what changes while one looks, or counts how often it was looked at:
// lifetimes, timers, the queue that a device gets when it is up first.
var moving = regexp.MustCompile(`(?m)^ *"(valid_life_time|preferred_life_time|link_netnsid|expires)": *[0-9]+,?\n`)

// same waits until the NIC is as before: the kernel makes the local routes of
// addresses a moment later.
func same(t testing.TB, when, before string, look func() string) {
	t.Helper()
	diff := ""
	poll.Until(slowly, 100*time.Millisecond, poll.True(func() bool {
		diff = cmp.Diff(strings.Split(before, "\n"), strings.Split(look(), "\n"))
		return diff == ""
	}))
	if diff != "" {
		t.Errorf("%s the NIC is another (-before +after):\n%s", when, diff)
	}
}

// lifetime returns an address's lifetime in seconds.
func lifetime(t testing.TB, name, address string) int {
	t.Helper()
	var all []struct {
		Info []struct {
			Local string
			Valid int `json:"valid_life_time"`
		} `json:"addr_info"`
	}
	cell.Must(t, json.Unmarshal([]byte(cell.Sh(t, "ip -j address show dev %s", name)), &all))
	for _, a := range all[0].Info {
		if a.Local == address {
			return a.Valid
		}
	}
	return -1
}

// network makes a direct network over the NICs.
func network(t testing.TB, w *world.World, name string, change func(*heddle.Network), nics ...string) heddle.Network {
	t.Helper()
	n := heddle.Network{Name: name, Mode: "direct", Options: map[string]string{"nics": strings.Join(nics, ",")}}
	if change != nil {
		change(&n)
	}
	made, _, err := w.CreateNetwork(n, false)
	cell.Must(t, err)
	return made
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

// TestInGuests repeats the proofs under Debian's kernels. In make test, the container dies in one way,
// and nothing is refused: that is the agent's work alone.
func TestInGuests(t *testing.T) {
	soak.Turn(t, 1)
	g := vm.Guest{Small: map[string]string{"6.1": "^TestRoundTrip$|^TestDeath$/^its_namespace_is_deleted,_agent_dead$"}}
	g.RunEverywhere(t, "^Test(RoundTrip|Refused|Death)$")
}

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, s := range texts {
		all = append(all, netip.MustParsePrefix(s))
	}
	return all
}

// withoutIndex takes the number away, which the kernel chooses anew when it
// moves a NIC itself.
func withoutIndex(dump string) string { return index.ReplaceAllString(dump, "") }

var index = regexp.MustCompile(`(?m)^ *"ifindex": *[0-9]+,?\n`)
