package attack_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// farEndAttacks are those of a container that has one end of a pair as its NIC, when the
// other end is not where it was, and as it was, any more.
func farEndAttacks() []ownAttack {
	const disguise = "ip link set own0 alias mine address 02:00:00:0a:01:99"
	moved, back := "ip link set nic2 netns users", "ip -n users link set nic2 netns %d"
	return []ownAttack{
		{class: "keep", name: "NIC whose far end was given another MAC address, disguised", modes: isDirect,
			mount: keepsEnd(disguise, "ip link set nic2 address 02:00:00:0a:02:99", "")},
		{class: "keep", name: "NIC whose far end was moved away", modes: isDirect, mount: keepsEnd("true", moved, back)},
		{class: "keep", name: "NIC whose far end was moved away, disguised", modes: isDirect, mount: keepsEnd(disguise, moved, back)},
		{class: "keep", name: "NIC whose far end another container has, disguised", modes: isDirect, mount: keepsOfTwo(disguise)},
		{class: "keep", name: "impostor for a NIC whose far end another container had", modes: isDirect, mount: impostorOfTwo},
	}
}

// wired is a container with nic1, whose far end is nic2, another NIC of the host.
type wired struct {
	*world.Pod
	w *world.World
	// outer is a process of the host.
	outer int
}

func newWired(t *testing.T) *wired {
	t.Helper()
	w := world.New(t)
	w.Host.Sh(t, "ip link add nic1 address 02:00:00:0a:01:01 type veth peer name nic2 address 02:00:00:0a:02:01; ip link set nic1 up; ip link set nic2 up")
	t.Cleanup(func() { w.Host.TrySh("ip link del nic1 || ip link del nic2") })
	_, _, err := w.CreateNetwork(heddle.Network{Name: "net", Mode: isDirect, Options: map[string]string{"nics": "nic1,nic2"}}, false)
	cell.Must(t, err)
	ns := world.NewNetns(t, "captive")
	return &wired{w: w, outer: start(t, w.Host, 0), Pod: w.PodIn(t, ns, "net", withNIC("nic1"))}
}

func withNIC(name string) world.PodOption { return func(r *heddle.AttachRequest) { r.NIC = name } }

// kept detaches the container, or takes its NIC away by the name that it was given (open).
// It reports whether it is told that the NIC is back, and the container has it.
func (c *wired) kept(t *testing.T, open bool) bool {
	t.Helper()
	err := error(nil)
	if open {
		c.TrySh("ip link set eth0 netns %d name nic1", c.outer)
	} else {
		_, err = c.w.Detach(t.Context(), c.Endpoint.ID)
	}
	_, errHas := c.TrySh("ip link show own0")
	t.Logf("detach: %v; the container has it: %v", err, errHas == nil)
	if err != nil && !errors.Is(err, heddle.Quarantined.Sentinel()) {
		t.Errorf("the detach fails, and not because the NIC is in quarantine")
	}
	return err == nil && errHas == nil
}

// comesHome waits until the NIC is back.
func (c *wired) comesHome(t *testing.T) {
	t.Helper()
	world.Soon(t, "detach", func() error {
		_, err := c.w.Detach(t.Context(), c.Endpoint.ID)
		return err
	})
	if out, err := c.w.Host.TrySh("ip link show nic1 | grep 02:00:00:0a:01:01"); err != nil {
		t.Errorf("it is not back: %v %s", err, out)
	}
}

// keepsEnd renames the container's NIC and disguises it; somebody of the host changes its
// far end, and at the end takes that back: until then the NIC may be in quarantine. It
// succeeds if the detach says that all is well, and the container has the NIC.
func keepsEnd(disguise, change, back string) func(t *testing.T, mode string, open bool) bool {
	return func(t *testing.T, _ string, open bool) bool {
		c := newWired(t)
		world.NewNetns(t, "users")
		c.Sh(t, "ip link set eth0 down; ip link set eth0 name own0; %s; ip link set own0 up", disguise)
		c.w.Host.Sh(t, "%s", change)
		kept := c.kept(t, open)
		if back != "" {
			c.w.Host.Sh(t, back, c.outer)
		}
		if !kept || open {
			c.comesHome(t)
		}
		return kept
	}
}

// keepsOfTwo is keepsEnd with the far end given to another container.
func keepsOfTwo(disguise string) func(t *testing.T, mode string, open bool) bool {
	return func(t *testing.T, _ string, open bool) bool {
		c := newWired(t)
		other := c.w.PodIn(t, world.NewNetns(t, "other"), "net", withNIC("nic2"))
		c.Sh(t, "ip link set eth0 down; ip link set eth0 name own0; %s; ip link set own0 up", disguise)
		kept := c.kept(t, open)
		other.Leave(t)
		if !kept || open {
			c.comesHome(t)
		}
		return kept
	}
}

// impostorOfTwo has a container delete its NIC, and with it the far end, which another
// container has. It puts an interface of its own in its place that is like it in all that
// a container can write, and succeeds if that comes home. Without the search the host is
// given the impostor by its name. Both containers have an end of another pair as well, so
// that those do not keep them in quarantine.
func impostorOfTwo(t *testing.T, _ string, open bool) bool {
	c := newWired(t)
	other := c.w.PodIn(t, world.NewNetns(t, "other"), "net", withNIC("nic2"))
	c.w.Network(t, "hub", "bridge")
	c.Join(t, "hub", world.As("eth1"))
	other.Join(t, "hub", world.As("eth1"))
	c.Sh(t, `ip link del eth0; ip link add eth0 address 02:00:00:0a:01:01 type veth peer name ear0
		ip link set ear0 up; ip link set eth0 up alias '%s'`, c.Endpoint.ID.NICAlias("nic1"))
	if open {
		c.TrySh("ip link set eth0 netns %d name nic1", c.outer)
	} else {
		_, err := c.w.Detach(t.Context(), c.Endpoint.ID)
		t.Logf("detach: %v", err)
	}
	ear, err := c.TrySh("ip -o link show dev ear0") // its other end says whether it is elsewhere now
	t.Logf("in the container: %s %v", ear, err)
	c.TrySh("ip link del ear0")
	for _, id := range []heddle.EndpointID{c.Endpoint.ID, other.Endpoint.ID} { // nobody waits for what is gone
		world.Soon(t, "detach", func() error {
			_, err := c.w.Detach(t.Context(), id)
			return err
		})
	}
	return strings.Contains(ear, "link-netns")
}
