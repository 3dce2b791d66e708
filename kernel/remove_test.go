package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

// A failure at any step of Remove is repaired by calling it again. Then nothing is left, and shared
// objects of the network are untouched.
func TestRemoveAgain(t *testing.T) {
	for i, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			soak.Turn(t, i%soak.Turns)
			r := newRoom(t)
			r.sh(uplinkScript)
			r.settled(s)
			plan := s.endpoint(0)
			shared := func(key string) bool { return contains(s.netPlan, key) }
			r.apply(plan)
			cell.Must(t, r.k.Remove(plan, r.podNS, shared))
			before := r.steady()
			r.apply(plan)
			steps := r.stepsOf(func() error { return r.k.Remove(plan, r.podNS, shared) })
			for n := soak.Next(t, 0); n <= steps; n = soak.Next(t, n) {
				r.apply(plan)
				name := r.failAt(n)
				err := r.k.Remove(plan, r.podNS, shared)
				r.k.Tripwire = nil
				if !errors.Is(err, errInjected) {
					t.Fatalf("step %d (%s): %v", n, *name, err)
				}
				cell.Must(t, r.k.Remove(plan, r.podNS, shared))
				r.becomes(fmt.Sprintf("removed after a failure at step %d (%s)", n, *name), before)
			}
			r.clean(s.netPlan)
			cell.Must(t, r.k.Remove(plan, nil, shared))
			cell.Must(t, r.k.Remove(s.netPlan, nil, nil))
			cell.Must(t, r.k.Remove(s.netPlan, nil, nil))
			r.nothingOwned()
		})
	}
}

func (r *room) nothingOwned() {
	r.t.Helper()
	o, err := r.k.Ours()
	cell.Must(r.t, err)
	if len(o.Keys()) != 0 {
		r.t.Fatalf("left: %v", o.Keys())
	}
}

// Remove works if the container's namespace, the links or the tables are gone, and keeps what other
// plans want.
func TestRemoveAbsent(t *testing.T) {
	for _, s := range scenarios(t) {
		if s.name == "direct" {
			continue // the agent handles a NIC in a lost namespace
		}
		for _, loss := range []string{"", "ip -n POD link delete eth0", "ip link delete PORT || true", "nft flush ruleset", "ip route flush proto 104; ip rule flush protocol 104"} {
			t.Run(s.name+"/"+loss, func(t *testing.T) {
				r := newRoom(t)
				r.sh(uplinkScript)
				one, two := s.endpoint(0), s.endpoint(1)
				r.apply(s.netPlan)
				r.apply(one)
				second := newRoomOn(r)
				second.apply(two)
				port := "hm0" // a plan without a port loses nothing
				if n := len(one.Host.Links); n > 0 {
					port = one.Host.Links[n-1].Name
				}
				r.sh(strings.NewReplacer("POD", r.pod, "PORT", port).Replace(loss))
				cell.Must(t, r.k.Remove(one, nil, func(key string) bool { return contains(s.netPlan, key) || contains(two, key) }))
				if loss == "" {
					second.clean(two)
					r.clean(s.netPlan)
				}
				cell.Must(t, r.k.Remove(two, second.podNS, nil))
				cell.Must(t, r.k.Remove(s.netPlan, nil, nil))
				r.nothingOwned()
			})
		}
	}
}

// newRoomOn is another container on the same host.
func newRoomOn(r *room) *room {
	r.t.Helper()
	o := &room{t: r.t, host: r.host, pod: newNetns(r.t, "pod"), k: r.k, hostNS: r.hostNS, lasting: r.lasting}
	o.podNS = openNetns(r.t, o.pod)
	return o
}

// The objects with our mark are listed with the keys that plans use. Prune removes those that
// nobody wants, and nothing else.
func TestOursAndPrune(t *testing.T) {
	for i, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			soak.Turn(t, i%soak.Turns)
			r := newRoom(t)
			r.sh(uplinkScript)
			r.sh(strangers)
			one, two := s.endpoint(0), s.endpoint(1)
			r.apply(s.netPlan)
			r.apply(one)
			before := r.steady()
			keep := func(key string) bool { return contains(s.netPlan, key) || contains(one, key) }
			owned, err := r.k.Ours()
			cell.Must(t, err)
			for _, key := range owned.Keys() {
				if !keep(key) {
					t.Errorf("ours has %s, which no plan names", key)
				}
			}
			for _, o := range append(s.netPlan.Host.Objects(), one.Host.Objects()...) {
				marked := !slices.ContainsFunc([]string{"sysctl/", "address/", "neighbour/", "forward/"}, func(kind string) bool { return strings.HasPrefix(o.Key(), kind) })
				if l, ok := o.(heddle.Link); ok && l.Kind == "" {
					marked = false // it was there before
				}
				if p, ok := o.(heddle.Program); ok && p.Wire == nil {
					marked = false // it is removed with its link
				}
				if marked && !slices.Contains(owned.Keys(), o.Key()) {
					t.Errorf("ours lacks %s", o.Key())
				}
			}
			newRoomOn(r).apply(two)
			removed, err := r.k.Prune(keep)
			cell.Must(t, err)
			if len(removed) == 0 && len(two.Host.Objects()) > 0 {
				t.Error("nothing pruned")
			}
			again, err := r.k.Prune(keep)
			cell.Must(t, err)
			if len(again) != 0 {
				t.Errorf("pruned again %v", again)
			}
			r.clean(s.netPlan)
			r.clean(one)
			if s.name == "routed" { // a bridge changes with its ports
				r.becomes("pruned", before)
			}
			_, err = r.k.Prune(func(string) bool { return false })
			cell.Must(t, err)
			r.nothingOwned()
			r.sh("ip link show dummyish; ip route show 203.0.113.0/24 | grep -q dummyish; nft list table inet stranger; nft list set inet stranger macs; ip rule | grep -q 4711; ip link show hdstranger")
		})
	}
}

// strangers look like ours, but are not.
const strangers = `ip link add dummyish type veth peer name hdstranger
ip link set dummyish alias 'somebody heddle '
ip link set dummyish up
ip address add 203.0.113.1/24 dev dummyish
ip rule add priority 26700 lookup 4711
ip route add 192.0.2.0/24 dev dummyish proto 105
nft add table inet stranger
nft add set inet stranger macs '{ type ifname . ether_addr; }'
nft add table ip heddle
`

// Interfaces that are not ours are neither changed nor removed.
func TestStrangersInterfaces(t *testing.T) {
	s := scenarios(t)[0]
	plan := s.endpoint(0)
	port := plan.Host.Links[0].Name
	for _, c := range []struct {
		script string
		code   heddle.Code
	}{
		{"ip link add PORT type veth peer name x0", heddle.KernelRefused},
		{"ip link add PORT type bridge; ip link set PORT alias 'heddle endpoint=other/eth0'", heddle.KernelRefused},
		{"ip link add PORT type bridge; ip link set PORT alias 'heddle endpoint=c0/eth0'", heddle.KernelRefused},
		{"ip -n POD link add eth0 type veth peer name x0", heddle.IfNameTaken},
		{"ip -n POD link add x0 type veth peer name eth0; ip -n POD link set eth0 alias mine", heddle.IfNameTaken},
	} {
		r := newRoom(t)
		r.sh(uplinkScript)
		r.settled(s)
		script := strings.NewReplacer("PORT", port, "POD", r.pod).Replace(c.script)
		r.sh(script)
		before := r.steady()
		_, err := r.k.Apply(plan, r.podNS)
		if !errors.Is(err, c.code.Sentinel()) {
			t.Errorf("%s: %v", script, err)
		}
		t.Log(err)
		r.becomes(script, before)
		if !strings.Contains(script, "endpoint=c0") {
			cell.Must(t, r.k.Remove(plan, r.podNS, func(key string) bool { return contains(s.netPlan, key) }))
			r.becomes("removed beside "+script, before)
		}
	}
}

// The commands by which a plan is said to go leave what Remove leaves.
func TestCommandsEqualRemove(t *testing.T) {
	for i, s := range scenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			soak.Turn(t, i%soak.Turns)
			typed, made := newRoom(t), newRoom(t)
			plans := []heddle.Plan{s.netPlan, s.endpoint(0)}
			shared := func(key string) bool { return contains(s.netPlan, key) }
			untyped := func(o heddle.Object) bool { // no command removes these
				_, redirect := o.(heddle.Redirect)
				return redirect || fast(o)
			}
			for _, r := range []*room{typed, made} {
				r.sh(uplinkScript)
				r.apply(plans[0])
				r.apply(plans[1])
			}
			typed.sh(strings.Join(commands.Removal(plans[1], typed.pod, shared), "\n"))
			cell.Must(t, typed.k.Remove(heddle.Plan{Host: plans[1].Host.Filter(untyped)}, nil, shared))
			cell.Must(t, made.k.Remove(plans[1], made.podNS, shared))
			if s.name != "direct" { // a NIC comes home with more than commands say
				sameText(t, "commands and Remove", anonymous(typed, typed.steady(), plans), anonymous(made, made.steady(), plans))
			}
			typed.sh(strings.Join(commands.Removal(plans[0], "", nil), "\n"))
			cell.Must(t, typed.k.Remove(heddle.Plan{Host: plans[0].Host.Filter(untyped)}, nil, nil))
			typed.nothingOwned()
		})
	}
}
