package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/mode/bridge"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
)

// damage removes one object, as somebody with a shell would; collateral says that others are
// removed with it.
func (r *room) damage(ns string, o heddle.Object) (collateral bool) {
	in := " -n " + ns + " "
	switch x := o.(type) {
	case heddle.Link:
		if x.Kind == "" {
			r.sh("ip" + in + "link set " + x.Name + " down")
			return x.Name != "lo"
		}
		r.sh("ip" + in + "link delete " + x.Name)
		return true
	case heddle.NIC:
		r.sh("ip" + in + "link set " + x.IfName + " netns " + r.host + " name " + x.Name)
		return true
	case heddle.Sysctl:
		value := "0"
		if x.Value == "0" {
			value = "1"
		}
		if strings.Contains(x.Name, "/neigh/") {
			value = "80" // hundredths of a second
		}
		r.sh("ip netns exec " + ns + " sysctl -qw " + x.Name + "=" + value)
		return strings.HasSuffix(x.Name, "/disable_ipv6") // addresses and routes go with it
	case heddle.Element:
		cell.Must(r.t, r.k.nft.deleteElements([]heddle.Element{x}))
	case heddle.Forward:
		where := "master"
		if x.Dst.IsValid() {
			where = "self"
		}
		r.sh(fmt.Sprintf("bridge%sfdb del %s dev %s %s", in, x.MAC, x.Link, where))
	case heddle.Address:
		r.sh(fmt.Sprintf("ip%saddress delete %s dev %s", in, x.Prefix, x.Link))
		return true
	case heddle.Neighbour:
		r.sh(fmt.Sprintf("ip%sneighbour delete %s dev %s", in, x.Addr, x.Link))
	case heddle.Proxy:
		r.sh(fmt.Sprintf("ip%sneighbour delete proxy %s dev %s", in, x.Addr, x.Link))
	case heddle.Route:
		x = filled(x)
		r.sh(fmt.Sprintf("ip%sroute delete %s %s table %d proto 104 metric %d", in, x.Type, x.Dst, x.Table, x.Metric))
	case heddle.Rule:
		from, to, six := "", "", ""
		if x.From.IsValid() {
			from = " from " + x.From.String()
		}
		if x.To.IsValid() {
			to = " to " + x.To.String()
		}
		if x.From.Addr().Is6() || x.To.Addr().Is6() {
			six = "-6 "
		}
		r.sh(fmt.Sprintf("ip%s%srule delete priority %d%s%s lookup %d", in, six, x.Priority, from, to, x.Table))
	case heddle.Firewall:
		return r.damageFirewall(x)
	case heddle.Redirect:
		cell.Must(r.t, r.k.Remove(heddle.Plan{Host: heddle.State{Redirects: []heddle.Redirect{x}}}, nil, nil))
	case heddle.Program:
		if x.Wire == nil {
			r.sh("tc filter delete dev " + x.Link + " ingress")
			return false
		}
		cell.Must(r.t, r.k.Remove(heddle.Plan{Host: heddle.State{Programs: []heddle.Program{x}}}, nil, nil))
	case heddle.Shortcut:
		cell.Must(r.t, r.k.Remove(heddle.Plan{Host: heddle.State{Shortcuts: []heddle.Shortcut{x}}}, nil, nil))
	case heddle.Remote:
		cell.Must(r.t, r.k.Remove(heddle.Plan{Host: heddle.State{Remotes: []heddle.Remote{x}}}, nil, nil))
		return true // shortcuts lead to it
	}
	return false
}

// damageFirewall flushes chains, and drops the whole table for objects that are in use.
func (r *room) damageFirewall(x heddle.Firewall) (collateral bool) {
	if x.Kind == "chain" && len(x.Rules) > 0 {
		r.sh("nft flush chain " + x.Family + " heddle " + x.Name)
		return false
	}
	r.sh("nft delete table " + x.Family + " heddle")
	return true
}

// Every single object that somebody removes is reported, and Apply makes it again.
func TestDiffFindsEachObject(t *testing.T) {
	for i, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			soak.Turn(t, i%soak.Turns)
			r := newRoom(t)
			r.sh(uplinkScript)
			plan := s.endpoint(0)
			r.apply(s.netPlan)
			r.apply(plan)
			union, conflicts := s.netPlan.Host.Union(plan.Host)
			if len(conflicts) > 0 {
				t.Fatal(conflicts)
			}
			all := heddle.Plan{Host: union, Pod: plan.Pod}
			for ns, state := range map[string]heddle.State{r.host: all.Host, r.pod: all.Pod} {
				objects := state.Objects()
				for i := soak.Next(t, -1); i < len(objects); i = soak.Next(t, i) {
					o := objects[i]
					collateral := r.damage(ns, o)
					diff, err := r.k.Diff(all, r.podNS)
					cell.Must(t, err)
					found := false
					for _, d := range diff {
						found = found || d.Key == o.Key()
					}
					if !found || len(diff) > 1 && !collateral {
						t.Fatalf("without %s: %v", o.Key(), diff)
					}
					made := r.apply(all)
					// a new device has IPv6 anyway, and a peer that is back gets its earlier index
					given := 0
					for _, d := range diff {
						if o.Key() != d.Key && strings.HasSuffix(d.Key, "/disable_ipv6") {
							given++
						}
						if _, remote := o.(heddle.Remote); remote && o.Key() != d.Key {
							given++ // they lead to the peer again
						}
					}
					if len(made) < len(diff)-given {
						t.Errorf("without %s: repaired %v of %v", o.Key(), made, diff)
					}
					r.clean(all)
				}
			}
		})
	}
}

// drifts are changes to existing objects, with the keys that they concern.
func (s scenario) drifts() map[string]string {
	if s.mode.Name() == "macvlan" {
		return map[string]string{
			"ip link set PORT mtu 1300":                                                                 "link/PORT",
			"ip link set PORT address 02:00:00:00:00:99":                                                "link/PORT",
			"ip link set PORT group 7":                                                                  "link/PORT",
			"ip link set PORT alias ''":                                                                 "link/PORT",
			"ip link set PORT type macvlan mode vepa":                                                   "link/PORT",
			"ip -n POD link set eth0 mtu 1300":                                                          "link/eth0",
			"ip -n POD link set eth0 alias ''":                                                          "link/eth0",
			"ip -n POD link set eth0 type macvlan mode private":                                         "link/eth0",
			"sysctl -qw net/ipv4/conf/PORT/arp_filter=0":                                                "sysctl/net/ipv4/conf/PORT/arp_filter",
			"ip neighbour replace 198.51.100.128 lladdr 02:00:00:00:00:99 dev PORT nud permanent":       "neighbour/PORT/198.51.100.128",
			"ip -n POD route change default via 198.51.100.1 dev eth0 mtu 1000 proto 104":               "route/0/0.0.0.0/0/0/eth0",
			"ip route change 198.51.100.128/32 dev PORT src 198.51.100.2 mtu 1000 proto 104":            "route/0/198.51.100.128/32/0/PORT",
			"ip -n POD neighbour replace 2001:db8:1::2 lladdr 02:00:00:00:00:99 dev eth0 nud permanent": "neighbour/eth0/2001:db8:1::2",
		}
	}
	if s.name == "tunnel" {
		return tunnelDrifts
	}
	if s.name == "plugged" { // the rest is as in scenario routed
		return map[string]string{
			"ip rule add priority 26879 from 10.20.0.0/16 lookup main protocol 104":                                                  "rule/26879/10.20.0.0/16/all",
			"ip rule delete priority 26879 from 10.20.0.0/16; ip rule add priority 26879 from 10.20.0.0/16 lookup main protocol 104": "rule/26879/10.20.0.0/16/all",
			"ip -6 rule delete priority 26880 from fd20::2; ip -6 rule add priority 26880 from fd20::2 lookup 77 protocol 104":       "rule/26880/fd20::2/128/all",
			"ip route change default via 10.20.0.1 dev up0 onlink mtu 1000 table 6946816 proto 104":                                  "route/6946816/0.0.0.0/0/0/up0",
			"ip route change unreachable default metric 4294967295 mtu 1300 table 6946816 proto 104":                                 "route/6946816/0.0.0.0/0/4294967295/",
		}
	}
	bridged := s.mode.Name() == "bridge"
	all := map[string]string{
		"ip link set PORT mtu 1300":                                                     "link/PORT",
		"ip link set PORT address 02:00:00:00:00:99":                                    "link/PORT",
		"ip link set PORT group 7":                                                      "link/PORT",
		"ip link set PORT addrgenmode eui64":                                            "link/PORT",
		"ip link set PORT alias ''":                                                     "link/PORT",
		"ip -n POD link set eth0 mtu 1300":                                              "link/eth0",
		"ip -n POD link set eth0 alias ''":                                              "link/eth0",
		"sysctl -qw net/ipv6/conf/PORT/accept_ra=1":                                     "sysctl/net/ipv6/conf/PORT/accept_ra",
		"ip route change unreachable 10.20.0.0/16 metric 4294967295 mtu 1300 proto 104": "route/0/10.20.0.0/16/4294967295/",
		"ip -n POD -6 route change default via fd20::1 dev eth0 mtu 1300 proto 104":     "route/0/::/0/0/eth0",
		"ip -n POD route change default via 10.20.0.1 dev eth0 mtu 1000 proto 104":      "route/0/0.0.0.0/0/0/eth0",
		"nft delete element inet heddle any4 '{ tcp . 10000 }'; nft add element inet heddle any4 '{ tcp . 10000 : 10.20.9.9 . 80 }'": "element/inet/any4/tcp.10000",
		"nft add rule inet heddle guard accept":      "firewall/inet/chain/guard",
		"nft insert rule bridge heddle guard accept": "firewall/bridge/chain/guard",
		"nft flush chain inet heddle forward; nft delete chain inet heddle forward; nft add chain inet heddle forward '{ type filter hook input priority 0; }'": "firewall/inet/chain/forward",
		"nft chain inet heddle forward '{ policy drop; }'": "firewall/inet/chain/forward",
	}
	if bridged {
		all["ip link set PORT nomaster"] = "link/PORT"
		all["bridge link set dev PORT learning on"] = "link/PORT"
		all["bridge link set dev PORT bcast_flood on"] = "link/PORT"
		all["ip link set BRIDGE type bridge mcast_snooping 1"] = "link/BRIDGE"
		all["ip link set BRIDGE down"] = "link/BRIDGE"
		all["ip neighbour replace 10.20.0.2 lladdr 02:00:00:00:00:99 dev BRIDGE nud permanent"] = "neighbour/BRIDGE/10.20.0.2"
		all["ip neighbour replace 10.20.0.2 lladdr MAC dev BRIDGE nud stale"] = "neighbour/BRIDGE/10.20.0.2"
		all["bridge fdb replace MAC dev other0 master static"] = "forward/PORT/MAC"
		all["bridge fdb replace MAC dev PORT master dynamic"] = "forward/PORT/MAC"
		all["ip address delete fd20::1/64 dev BRIDGE; ip address add fd20::1/128 dev BRIDGE nodad"] = "address/BRIDGE/fd20::1/64"
		all["nft delete element bridge heddle who4 '{ GROUP . 10.20.0.2 }'; nft add element bridge heddle who4 '{ GROUP . 10.20.0.2 : 02:00:00:00:00:99 }'"] = "element/bridge/who4/GROUP.10.20.0.2"
	} else {
		all["ip rule add priority 26880 from 10.20.0.0/16 lookup 77 protocol 104"] = "rule/26880/10.20.0.0/16/all"
		all["ip rule delete priority 26880 from 10.20.0.0/16; ip rule add priority 26880 from 10.20.0.0/16 lookup 77 protocol 104"] = "rule/26880/10.20.0.0/16/all"
	}
	return all
}

// Every change to our objects is reported and corrected. A failure at any step of the correction
// restores the changed values.
func TestDrift(t *testing.T) {
	for i, s := range scenarios(t) {
		if s.name == "shard" || s.name == "private" || s.name == "direct" || s.name == "overlay" {
			continue // made of the same objects as another, or tested in test/direct
		}
		t.Run(s.name, func(t *testing.T) {
			soak.Turn(t, i%soak.Turns)
			drifting(t, s)
		})
	}
}

// drifting changes what the scenario has made, in all the ways that it lists.
func drifting(t *testing.T, s scenario) {
	t.Helper()
	r := newRoom(t)
	r.sh(uplinkScript)
	plan := s.endpoint(0)
	r.settled(s)
	r.apply(plan)
	union, _ := s.netPlan.Host.Union(plan.Host)
	all := heddle.Plan{Host: union, Pod: plan.Pod}
	near := append(s.netPlan.Host.Links, plan.Host.Links...)
	port := near[len(near)-1]
	words := strings.NewReplacer("PORT", port.Name, "BRIDGE", s.network.BridgeName(0), "POD", r.pod,
		"MAC", string(plan.Pod.Links[len(plan.Pod.Links)-1].MAC), "GROUP", fmt.Sprintf("%#x", s.network.Group()))
	for script, key := range s.drifts() {
		script, key = words.Replace(script), words.Replace(key)
		r.sh(script)
		diff, err := r.k.Diff(all, r.podNS)
		cell.Must(t, err)
		if len(diff) == 0 || !hasKey(diff, key) {
			t.Fatalf("%s: found %v", script, diff)
		}
		if !strings.HasPrefix(key, "firewall/") && !(vm.InGuest() && s.name == "tunnel") { // which takes minutes there
			r.putsBack(t, script, all)
		}
		if made := r.apply(all); len(made) == 0 {
			t.Errorf("%s: nothing repaired", script)
		}
		if diff, _ := r.k.Diff(all, r.podNS); len(diff) > 0 {
			t.Fatalf("%s: after the repair %v", script, diff)
		}
	}
}

func hasKey(diff []Difference, key string) bool {
	for _, d := range diff {
		if d.Key == key && d.Kind == "differs" || strings.HasPrefix(key, "address/") && d.Key == key || (strings.HasPrefix(key, "forward/") || strings.HasPrefix(key, "element/inet/origins")) && d.Key == key {
			return true
		}
	}
	return false
}

// putsBack fails the last steps of a repair, which come after the correction.
func (r *room) putsBack(t *testing.T, what string, all heddle.Plan) {
	t.Helper()
	names := sysctlNames(all)
	before := r.steady(names...)
	last := all.Pod.Routes[len(all.Pod.Routes)-1].Key()
	r.k.Tripwire = func(step string) error {
		if step == "make "+last {
			return errInjected
		}
		return nil
	}
	_, err := r.k.Apply(all, r.podNS)
	r.k.Tripwire = nil
	if !errors.Is(err, errInjected) {
		t.Fatalf("%s: %v", what, err)
	}
	r.becomes("a failure after the repair of: "+what, before, names...)
}

// Few interfaces are read one by one, many are listed. The same differs.
func TestDiffManyAsEach(t *testing.T) {
	r := newRoom(t)
	r.sh(uplinkScript)
	s := newScenario(t, "bridge", bridge.Mode{}, nil, 0)
	r.apply(s.netPlan)
	var all heddle.State
	var plans []heddle.State
	for i := range fewLinks + 2 {
		p := s.endpoint(i)
		_, err := r.k.Apply(p, openNetns(t, newNetns(t, "pod")))
		cell.Must(t, err)
		plans = append(plans, p.Host)
		all = heddle.Append(all, p.Host)
	}
	port := func(i int) string { return plans[i].Links[0].Name }
	r.sh(fmt.Sprintf("ip link add other type bridge; ip link set %s mtu 1280; ip link set %s master other; ip link set %s down; ip link del %s", port(0), port(1), port(2), port(3)))
	differing := func(want heddle.State) (lines []string) {
		found, err := r.k.Diff(heddle.Plan{Host: want}, nil)
		cell.Must(t, err)
		for _, d := range found {
			lines = append(lines, d.String())
		}
		return lines
	}
	var each []string
	for _, p := range plans {
		each = append(each, differing(p)...)
	}
	together := differing(all)
	slices.Sort(each)
	slices.Sort(together)
	if d := cmp.Diff(each, together); d != "" || len(each) < 4 {
		t.Errorf("each alone, and all together: %s\n%s", d, strings.Join(each, "\n"))
	}
	if master := s.network.BridgeName(0); !strings.Contains(strings.Join(each, "\n"), "want master "+master+", have other") {
		t.Errorf("nobody misses the bridge %s, and has another:\n%s", master, strings.Join(each, "\n"))
	}
}
