package attack_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// keepAttacks are those of a container with CAP_NET_ADMIN that does not let go:
// after its detach it is still on the LAN, or has given back something else.
func keepAttacks() []ownAttack {
	return []ownAttack{
		{class: "keep", name: "macvlan device of the container's own making, kept after detach", modes: isMacvlan, mount: keeps(
			"ip link add link eth0 name own0 address " + string(strangerMAC) + " type macvlan mode bridge; ip link set own0 up; ip address flush dev eth0; ip address add %[1]s/24 dev own0")},
		{class: "keep", name: "ipvlan device of the container's own making, kept after detach", modes: isIPvlan, mount: keeps(
			"ip link add link eth0 name own0 type ipvlan mode l2; ip link set own0 up; ip address flush dev eth0; ip address add %[1]s/24 dev own0")},
		{class: "keep", name: "device renamed, with its address", modes: "macvlan ipvlan direct", mount: keeps(
			"ip link set eth0 down; ip link set eth0 name own0 alias mine; ip link set own0 up; ip address replace %[1]s/24 dev own0")},
		{class: "keep", name: "device moved to a namespace within the container", modes: "macvlan ipvlan direct bridge routed", mount: keeps(
			"ip link set eth0 alias mine netns %[2]d; nsenter --net=/proc/%[2]d/ns/net sh -c 'ip link set eth0 name own0; ip link set own0 up; ip address add %[1]s/24 dev own0; ip route add default dev own0'")},
		{class: "keep", name: "macvlan device in a namespace within the container", modes: isMacvlan, mount: keeps(
			"ip link add link eth0 name own0 address " + string(strangerMAC) + " type macvlan mode bridge; ip link set own0 netns %[2]d; nsenter --net=/proc/%[2]d/ns/net sh -c 'ip link set own0 up; ip address add %[1]s/24 dev own0'")},
		{class: "keep", name: "macvlan device on a NIC, in a namespace within the container", modes: isDirect, mount: keeps(
			"ip link add link eth0 name own0 type macvlan mode bridge; ip link set own0 netns %[2]d; nsenter --net=/proc/%[2]d/ns/net sh -c 'ip link set own0 up; ip address add %[1]s/24 dev own0'")},
		{class: "keep", name: "macvlan device on a NIC that a NIC manager raises as soon as it is home", modes: isDirect, mount: raisedAtHome},
		{class: "keep", name: "device hidden in a namespace that nobody finds", modes: "macvlan direct", mount: tuckedAway},
		{class: "keep", name: "macvlan device with MAC and IP addresses of its own, in a namespace within the container", modes: isMacvlan, mount: ledAway},
		{class: "keep", name: "hidden device with the MAC address of an accomplice's that is down", modes: isMacvlan, mount: behindAccomplice},
		{class: "keep", name: "hidden device with the MAC address of another container's and of the parent's far end", modes: isMacvlan, mount: behindFarEnd},
		{class: "keep", name: "hidden device with the MAC address of one that another container had made before", modes: isMacvlan, mount: heardBefore},
		{class: "keep", name: "hidden device with the MAC address of one that another container had put into a namespace of its making", modes: isMacvlan, mount: heardNested},
		{class: "keep", name: "device of the container's own making, on a parent that was renamed", modes: "macvlan ipvlan", mount: underRenamed},
		{class: "keep", name: "device of the container's own making, made while its attach fails", modes: "macvlan ipvlan", mount: whileItFails},
		{class: "keep", name: "device with the number of another endpoint's, on another parent", modes: isMacvlan, mount: numberOfAnother},
		{class: "keep", name: "impostor with the NIC's name, number, MAC and alias", modes: isDirect, mount: impostor},
		{class: "keep", name: "tcx program left on a NIC (Linux 6.6 and later)", modes: isDirect, mount: leavesProgram, need: needTCX},
		{class: "own-end", name: "interface deleted, so that the agent takes the living container for gone", modes: "bridge routed overlay", mount: severed},
		{class: "own-end", name: "link renamed, so that heddle gc takes the living container for gone", modes: "bridge routed macvlan ipvlan direct", mount: renamed},
	}
}

// captive is a container on a network of its mode, with a namespace of its own
// making inside.
type captive struct {
	*world.Pod
	w *world.World
	// inner is the process that has the inner namespace, outer one of the host.
	inner, outer int
	nest         world.Netns
	// to is an address that everybody on the network reaches.
	to netip.Addr
	// ear is a device of the host that hears the container where no answer can come; "" if none.
	ear string
}

func newCaptive(t *testing.T, mode string, options ...func(*agent.Options)) *captive {
	t.Helper()
	w := world.New(t, options...)
	c := &captive{w: w, to: world.Outside4}
	switch mode {
	case isDirect:
		c.to = newNIC(t, w)
	case isMacvlan, isIPvlan:
		_, _, err := w.CreateNetwork(w.Plan("net", mode, func(n *heddle.Network) {
			n.Subnets, n.Ranges = nil, []netip.Prefix{netip.MustParsePrefix("192.0.2.128/25")}
		}), false)
		made(t, mode, err)
	default:
		c.to = w.Network(t, "net", mode).Gateways[0]
	}
	ns := world.NewNetns(t, "captive")
	c.inner, c.outer = start(t, ns, unix.CLONE_NEWNET), start(t, w.Host, 0)
	c.nest = world.Netns{Name: "nest", Path: fmt.Sprintf("/proc/%d/ns/net", c.inner)}
	c.Pod = w.PodIn(t, ns, "net")
	c.Reaches(t, c.to)
	return c
}

// start runs a program in the namespace, or in a new namespace of its making, until the
// test ends.
func start(t *testing.T, in world.Netns, flags uintptr) (pid int) {
	t.Helper()
	cmd := exec.Command("sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	if err := in.Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd.Process.Pid
}

// newNIC is a network of mode direct with one NIC, nic1, whose LAN has one other
// host; it returns that one's address. The NIC's MAC address is in the tests of no other
// package, which run beside: a device that has it, wherever it is, may be the NIC.
func newNIC(t *testing.T, w *world.World) netip.Addr {
	t.Helper()
	world.NewNetns(t, "wire")
	w.Host.Sh(t, `ip link add nic1 index 4711 address 02:00:00:0a:01:01 type veth peer name lan0 netns wire
		ip address add 10.60.0.2/24 dev nic1; ip link set nic1 up
		ip -n wire address add 10.60.0.1/24 dev lan0; ip -n wire link set lan0 up`)
	t.Cleanup(func() { w.Host.TrySh("ip link del nic1") })
	_, _, err := w.CreateNetwork(heddle.Network{Name: "net", Mode: isDirect, Parent: "nic1"}, false)
	cell.Must(t, err)
	return netip.MustParseAddr("10.60.0.1")
}

// reached reports whether anything in the container, or within, reaches the LAN: it is
// answered, or has been heard under the stranger's MAC address.
func (c *captive) reached() bool {
	for _, p := range []world.Netns{c.Netns, c.nest} {
		if p.Ping(c.to, fmt.Sprintf("-W%.1f", world.Refusal.Seconds())) == nil {
			return true
		}
	}
	if c.ear == "" {
		return false
	}
	out, err := c.w.Host.TrySh("ip neigh show %s dev %s", c.V4(), c.ear)
	return err == nil && strings.Contains(out, string(strangerMAC))
}

// byName takes away what the container was given as if names told: a NIC comes to the
// host under its own, another device is deleted.
func (c *captive) byName(mode string) {
	if mode == isDirect {
		c.TrySh("ip link set eth0 netns %d name nic1; nsenter --net=/proc/%[1]d/ns/net ip link set nic1 up", c.outer)
		return
	}
	c.TrySh("ip link del eth0")
}

// keeps has the container do something, %[1]s being its address and %[2]d a process
// in its inner namespace, and detaches it. It succeeds if the container is on the
// LAN all the same. Without the agent's search the container's
// device is taken away by its name alone.
func keeps(doing string) func(t *testing.T, mode string, open bool) bool {
	return func(t *testing.T, mode string, open bool) bool {
		c := newCaptive(t, mode)
		if out, err := c.TrySh(doing+" #%[1]s%[2]d", c.V4(), c.inner); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if open {
			c.byName(mode)
			return within(world.Patience, c.reached)
		}
		if _, err := c.w.Detach(t.Context(), c.Endpoint.ID); err != nil {
			t.Errorf("detach: %v", err) // all of it is found: nothing need end in quarantine
		}
		return c.reached()
	}
}

// raisedAtHome has the container put a device on the NIC, which is on the host and up
// before the agent looks at it there. It succeeds if that device stays on the LAN. The
// control has no detach.
func raisedAtHome(t *testing.T, mode string, open bool) bool {
	c := newCaptive(t, mode)
	c.Sh(t, `ip link add link eth0 name own0 type macvlan mode bridge; ip link set own0 netns %[2]d
		nsenter --net=/proc/%[2]d/ns/net sh -c 'ip link set own0 up; ip address add %[1]s/24 dev own0'`, c.V4(), c.inner)
	c.byName(mode)
	if open {
		return within(world.Patience, c.reached)
	}
	if _, err := c.w.Detach(t.Context(), c.Endpoint.ID); err != nil {
		t.Errorf("detach: %v", err)
	}
	return c.reached()
}

// underRenamed has an operator rename a parent before the detach. It succeeds if what the
// container made there stays. The control takes away by name what it was given.
func underRenamed(t *testing.T, mode string, open bool) bool {
	c := newCaptive(t, mode)
	c.onAnother(t, mode)
	like := map[string]string{isMacvlan: "type macvlan mode bridge", isIPvlan: "type ipvlan mode l2"}
	c.Sh(t, "ip link add link eth1 name own0 %s; ip link set own0 up", like[mode])
	c.w.Host.Sh(t, "ip link set up9 down; ip link set up9 name up8; ip link set up8 up")
	defer c.w.Host.Sh(t, "ip link del up8")
	if open {
		c.TrySh("ip link del eth1")
	} else if _, err := c.w.Detach(t.Context(), heddle.EndpointID{Container: c.Endpoint.ID.Container, IfName: "eth1"}); err != nil {
		t.Errorf("detach: %v", err) // it is found
	}
	_, err := c.TrySh("ip link show own0")
	return err == nil
}

// onAnother gives the container a second device eth1, on another parent up9.
func (c *captive) onAnother(t *testing.T, mode string) {
	t.Helper()
	c.another(t, mode)
	c.Join(t, "other", world.As("eth1"))
}

// another makes a network of the mode on another parent up9, whose far end is on the host.
func (c *captive) another(t *testing.T, mode string) {
	t.Helper()
	c.w.Host.Sh(t, "ip link add up9 type veth peer name up9far; ip link set up9 up; ip link set up9far up")
	t.Cleanup(func() { c.w.Host.TrySh("ip link del up9") })
	n := c.w.Plan("other", mode, func(n *heddle.Network) {
		n.Parent, n.Subnets = "up9", []netip.Prefix{netip.MustParsePrefix("10.99.0.0/24")}
	})
	n.Gateways = nil
	_, _, err := c.w.CreateNetwork(n, false)
	cell.Must(t, err)
}

// whileItFails has the container put a device of its own in the place of the one that it
// is just given, and has the attach fail then. It succeeds if the container stays on the
// LAN without an endpoint. Without the search the device goes that was made, by its name.
func whileItFails(t *testing.T, mode string, open bool) bool {
	c := newCaptive(t, mode)
	c.Leave(t)
	like := map[string]string{isMacvlan: "type macvlan mode bridge", isIPvlan: "type ipvlan mode l2"}
	replace := "ip link add link eth0 name own0 " + like[mode] + "; ip link set own0 up; ip address add 192.0.2.99/24 dev own0; ip link del eth0"
	c.w.TripAt(func(step string) error {
		if step != "ledger made" {
			return nil
		}
		c.w.TripAt(nil)
		c.Sh(t, "%s", replace)
		return errors.New("the test has the attach fail")
	})
	if open {
		c.w.TripAt(nil)
	}
	_, err := c.w.Attach(t.Context(), c.w.Request(c.Netns, "net"))
	t.Logf("attach: %v", err)
	if open {
		cell.Must(t, err)
		c.Sh(t, "%s", replace)
		c.byName(mode)
		return within(world.Patience, c.reached)
	}
	if err == nil {
		t.Fatal("the attach did not fail")
	}
	return c.reached()
}

// numberOfAnother gives the container a second device, on another parent. It puts one of its own
// on the first parent, with that one's number. It succeeds if that outlives the endpoint
// on the first parent.
func numberOfAnother(t *testing.T, mode string, open bool) bool {
	c := newCaptive(t, mode)
	c.onAnother(t, mode)
	c.Sh(t, `number=$(ip -o link show eth1 | cut -d: -f1); ip link del eth1
		ip link add link eth0 name own0 index $number type %[1]s mode bridge; ip link set own0 up
		ip address flush dev eth0; ip address add %[2]s/24 dev own0`, mode, c.V4())
	if open {
		c.byName(mode)
		return within(world.Patience, c.reached)
	}
	if _, err := c.w.Detach(t.Context(), heddle.EndpointID{Container: c.Endpoint.ID.Container, IfName: "eth0"}); err != nil {
		t.Errorf("detach: %v", err) // it is found
	}
	return c.reached()
}

// impostor has the container hide the NIC and put a veth in its place that is like it
// in all that a container can write. It succeeds if that comes home with the host's
// address. Without the search the host is given the impostor by its alias.
func impostor(t *testing.T, mode string, open bool) bool {
	c := newCaptive(t, mode)
	alias := c.Endpoint.ID.NICAlias("nic1")
	c.Sh(t, `ip link set eth0 alias mine netns %[2]d name own0
		ip link add eth0 index 4711 address 02:00:00:0a:01:01 type veth peer name ear0; ip link set ear0 up
		ip link set eth0 alias '%[1]s'`, alias, c.inner)
	if open {
		c.byName(mode) // which the impostor has
	} else if _, err := c.w.Detach(t.Context(), c.Endpoint.ID); err != nil {
		t.Errorf("detach: %v", err) // the NIC is found
	}
	// its other end says whether it is elsewhere now
	ear, err := c.TrySh("ip -o link show dev ear0")
	t.Logf("in the container: %s %v", ear, err)
	c.TrySh("ip link del ear0") // and the impostor with it
	return strings.Contains(ear, "link-netns")
}

// renamed has the container rename its interface and give it another alias; it
// succeeds if audit or gc take the endpoint for gone. The control is a container
// that is.
func renamed(t *testing.T, mode string, open bool) bool {
	c := newCaptive(t, mode)
	c.Sh(t, "ip link set eth0 down; ip link set eth0 name own0 alias mine; ip link set own0 up")
	if open {
		c.Delete()
		if mode == isDirect { // whose NIC comes back by itself
			return within(world.RepairTime, func() bool { return len(c.w.Endpoints()) == 0 })
		}
	}
	if open { // an agent that searches just now may keep the namespace
		return within(world.Patience, func() bool { return c.takenForGone(t) })
	}
	return c.takenForGone(t)
}

// severed has the container delete its interface, with which the host's end goes; it succeeds if the
// agent then takes the endpoint for gone, as it does with another one beside it that is. The control
// is a container that has ended.
func severed(t *testing.T, mode string, open bool) bool {
	c := newCaptive(t, mode, func(o *agent.Options) { o.Patrol = 200 * time.Millisecond })
	ended := c.w.Pod(t, "ended", "net")
	c.Sh(t, "ip link del eth0")
	if open {
		c.Delete()
	}
	ended.Delete()
	has := func(id heddle.EndpointID) bool {
		_, err := c.w.Endpoint(id)
		return err == nil
	}
	world.Within(t, 20*world.Patience, "the agent looks who is gone", func() error {
		if has(ended.Endpoint.ID) || open && has(c.Endpoint.ID) {
			return errors.New("a container that ended is not collected")
		}
		return nil
	})
	return !has(c.Endpoint.ID)
}

func (c *captive) takenForGone(t *testing.T) bool {
	t.Helper()
	found, err := c.w.Audit()
	cell.Must(t, err)
	removed, err := c.w.GC(t.Context(), "", nil)
	cell.Must(t, err)
	t.Logf("audit: %+v; gc: %v", found, removed)
	return len(removed) > 0 || len(c.w.Endpoints()) == 0 || slices.ContainsFunc(found, func(f heddle.Finding) bool { return f.Kind == "gone" })
}
