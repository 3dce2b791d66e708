package attack_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// hall is a real heddled with its sockets, and in each mode a network with two
// neighbours. Its name is the mode's.
type hall struct {
	*cell.Agent
	dir string
	// mode is the one in which the attack is mounted, one and two are its neighbours.
	mode     string
	one, two heddle.Endpoint
	pairs    map[string][2]heddle.Endpoint
}

var ctx = context.Background()

// doorAttack goes for the agent itself, its sockets and what it is told.
type doorAttack struct {
	class, name string
	// modes are those in which it is mounted, separated by spaces. None if no
	// network is concerned; the neighbours talk on a bridge meanwhile.
	modes string
	// try says whether the attack succeeded.
	try func(t *testing.T, h *hall) bool
	// control shows that what the attack is made of works: done without what
	// prevents it, it succeeds.
	control func(t *testing.T, h *hall) bool
}

// Modes of door attacks: those with containers that have a namespace, those with a
// link that the container could harm and that is the host's no more than its own, and
// those that publish ports. Mode ipvlan is not among them: the heddled program is not
// in the guests that have it.
const (
	spaced    = bridged + " " + isRouted + " " + isMacvlan + " " + isDirect
	linked    = bridged + " " + isRouted + " " + isMacvlan
	published = bridged + " " + isRouted
)

func doorAttacks() []doorAttack {
	var all []doorAttack
	for _, some := range []struct {
		modes   string
		attacks []doorAttack
	}{{spaced, pathAttacks()}, {"", socketAttacks()}, {published, portAttacks()}, {linked, churnAttacks()}, {"", netavarkAttacks()}, {bridged, batchAttacks()}} {
		for _, a := range some.attacks {
			if a.modes == "" {
				a.modes = some.modes
			}
			all = append(all, a)
		}
	}
	return all
}

// TestDoors mounts them all against one agent, which must live, keep its
// containers talking, and leave nothing.
func TestDoors(t *testing.T) {
	cell.Need(t)
	if vm.InGuest() {
		t.Skip("needs the heddled program, which guests do not have; nothing in it depends on the kernel's version")
	}
	dir := t.TempDir()
	for path := dir; path != "/" && path != os.TempDir(); path = filepath.Dir(path) {
		os.Chmod(path, 0o755) // callers without rights come as far as the socket
	}
	for _, sub := range []string{"state", "run"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lay(t)
	h := &hall{Agent: cell.Start(t, dir), dir: dir, pairs: map[string][2]heddle.Endpoint{}}
	networks := hallNetworks()
	for _, n := range networks {
		_, _, err := h.CreateNetwork(ctx, n, false)
		cell.Must(t, err)
		h.mode = n.Name
		if n.Mode != "host" {
			h.pairs[n.Name] = [2]heddle.Endpoint{h.attach(t, "one-"+n.Name), h.attach(t, "two-"+n.Name)}
		}
	}
	ran := tally{}
	for _, d := range doorAttacks() {
		for _, mode := range d.listing().modes {
			t.Run(d.name+"/"+mode, func(t *testing.T) {
				h.enter(mode)
				if d.try(t, h) {
					t.Error("the attack succeeded")
				}
				if d.control != nil && !d.control(t, h) {
					t.Error("the attack fails without what prevents it too: it proves nothing")
				}
				h.sound(t)
				ran.did(d.name, mode)
			})
		}
		ran.complete(t, d.listing())
	}
	for _, n := range networks {
		if n.Mode != "host" {
			h.detach(t, "one-"+n.Name)
			h.detach(t, "two-"+n.Name)
		}
		if err := h.DeleteNetwork(ctx, n.Name); err != nil {
			t.Error(err)
		}
	}
	h.AuditEmpty(t)
	world.NoTrace(t)
}

// lay gives the host a LAN for macvlan containers, and NICs for direct ones, in one
// switch.
func lay(t *testing.T) {
	cell.Netns(t, "wire")
	cell.Sh(t, `ip -n wire link add sw type bridge mcast_snooping 0; ip -n wire link set sw up
		ip -n wire address add 10.60.0.1/24 dev sw; ip -n wire address add fd60::1/64 dev sw nodad
		for nic in lan0 nic1 nic2 nic3 nic4; do
			ip link add $nic type veth peer name $nic netns wire; ip -n wire link set $nic master sw up
		done
		ip link set lan0 up; ip address add 10.61.0.1/24 dev lan0; ip address add fd61::1/64 dev lan0 nodad`)
	t.Cleanup(func() { cell.TrySh("for nic in lan0 nic1 nic2 nic3 nic4; do ip link del $nic; done") })
}

// hallNetworks are the networks of the hall, one a mode.
func hallNetworks() []heddle.Network {
	var all []heddle.Network
	subnets := func(number int) []netip.Prefix {
		return []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.%d.0.0/24", number)), netip.MustParsePrefix(fmt.Sprintf("fd%d::/64", number))}
	}
	for i, mode := range []string{"bridge", "routed", "overlay"} {
		all = append(all, heddle.Network{Name: mode, Mode: mode, Subnets: subnets(20 + i)})
	}
	return append(all,
		heddle.Network{Name: isMacvlan, Mode: isMacvlan, Parent: "lan0", Subnets: subnets(61),
			Ranges: []netip.Prefix{netip.MustParsePrefix("10.61.0.128/25"), netip.MustParsePrefix("fd61::1:0/112")}},
		heddle.Network{Name: isDirect, Mode: isDirect, Options: map[string]string{"nics": "nic1,nic2,nic3,nic4"}, Subnets: subnets(60),
			Gateways: []netip.Addr{netip.MustParseAddr("10.60.0.1"), netip.MustParseAddr("fd60::1")}},
		heddle.Network{Name: "host", Mode: "host"})
}

// enter takes the hall to a mode. Neighbours of the host's own stack, and where no
// network is concerned, are those of the bridge.
func (h *hall) enter(mode string) {
	h.mode = mode
	pair, ok := h.pairs[mode]
	if !ok {
		pair = h.pairs[bridged]
	}
	if mode == agentItself {
		h.mode = bridged
	}
	h.one, h.two = pair[0], pair[1]
}

func idOf(pod string) heddle.EndpointID { return heddle.EndpointID{Container: pod, IfName: "eth0"} }

// ask attaches by a path.
func (h *hall) ask(id heddle.EndpointID, path string, ports ...heddle.PortMapping) error {
	limited, cancel := context.WithTimeout(ctx, 6*world.Patience)
	defer cancel()
	_, err := h.Attach(limited, heddle.AttachRequest{Network: h.mode, ID: id, Netns: path, Ports: ports})
	return err
}

// attach makes a container for the length of the test.
func (h *hall) attach(t *testing.T, pod string) heddle.Endpoint {
	t.Helper()
	r, err := h.Attach(ctx, heddle.AttachRequest{Network: h.mode, ID: idOf(pod), Netns: cell.Netns(t, pod)})
	if err != nil {
		t.Fatal(err)
	}
	return r.Endpoint
}

func (h *hall) detach(t *testing.T, pod string) {
	t.Helper()
	if found, err := h.Detach(ctx, idOf(pod)); err != nil || !found {
		t.Errorf("detach %s: found %v, %v", pod, found, err)
	}
}

// sound: the agent answers, the neighbours reach each other, and nothing is
// left over.
func (h *hall) sound(t *testing.T) {
	t.Helper()
	one := world.Netns{Name: "one", Path: "/run/netns/" + h.one.ID.Container}
	for _, a := range h.two.Addrs {
		one.Reaches(t, a.Addr())
	}
	world.Within(t, 2*world.Patience, "audit is empty", func() error {
		found, err := h.Audit(ctx)
		if err == nil && len(found) > 0 {
			err = fmt.Errorf("%+v", found)
		}
		return err
	})
}

// refusedAs reports whether an error is heddle's own with the code.
func refusedAs(err error, code heddle.Code) bool {
	var known *heddle.Error
	return errors.As(err, &known) && known.Code == code
}
