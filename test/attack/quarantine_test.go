package attack_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// hide is a namespace that lives by a descriptor on its way between two sockets: no
// process is in it, and no path leads there. What it returns gives the way back.
func hide(t *testing.T, p world.Netns) (find func() *os.File) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	cell.Must(t, err)
	t.Cleanup(func() { unix.Close(pair[1]) })
	ns, err := os.Open(p.Path)
	cell.Must(t, err)
	cell.Must(t, unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(int(ns.Fd())), nil, 0))
	cell.Must(t, ns.Close())
	unix.Close(pair[0])
	p.Delete()
	return func() *os.File {
		rights := make([]byte, unix.CmsgSpace(4))
		_, n, _, _, err := unix.Recvmsg(pair[1], make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
		cell.Must(t, err)
		said, err := unix.ParseSocketControlMessage(rights[:n])
		cell.Must(t, err)
		fds, err := unix.ParseUnixRights(&said[0])
		cell.Must(t, err)
		file := os.NewFile(uintptr(fds[0]), p.Name)
		t.Cleanup(func() { file.Close() })
		return file
	}
}

// through is the namespace that an open file leads to.
func through(f *os.File) world.Netns {
	return world.Netns{Name: f.Name(), Path: fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())}
}

// tuckedAway has the container move its device to a namespace that nobody finds.
func tuckedAway(t *testing.T, mode string, open bool) bool {
	c := newCaptive(t, mode)
	return c.tuckAway(t, mode, open, c.Endpoint.MAC)
}

// behindAccomplice is tuckedAway with the device of another container in view, which is
// down and has the MAC address of the hidden one.
func behindAccomplice(t *testing.T, mode string, open bool) bool {
	c := newCaptive(t, mode)
	accomplice := c.w.Pod(t, "accomplice", "net")
	// the kernel refuses an address of a device that is up
	c.Sh(t, "ip link set eth0 down")
	accomplice.Sh(t, "ip link set eth0 down; ip link set eth0 address %s", c.Endpoint.MAC)
	defer accomplice.Sh(t, "ip link set eth0 address %s", accomplice.Endpoint.MAC)
	return c.tuckAway(t, mode, open, c.Endpoint.MAC)
}

// heardBefore is tuckedAway with a MAC address that another container had made a device
// with before the endpoint came.
func heardBefore(t *testing.T, mode string, open bool) bool {
	return newCaptive(t, mode).heard(t, mode, open, "net", "true", "ip link del own0")
}

// heardNested is that with the accomplice's device in a namespace of its own making.
func heardNested(t *testing.T, mode string, open bool) bool {
	return newCaptive(t, mode).heard(t, mode, open, "net",
		"ip link set own0 down; ip link set own0 netns %d; nsenter -t %[1]d -n ip link set own0 up", "nsenter -t %d -n ip link del own0")
}

// behindFarEnd is heardBefore with the MAC address of the parent's far end, which is on
// the host, too. The kernel brings what is sent to that address back to the device, so the
// LAN hears it, and nobody can answer.
func behindFarEnd(t *testing.T, mode string, open bool) bool {
	c := newCaptive(t, mode)
	c.another(t, mode)
	c.w.Host.Sh(t, "ip link set up9far address %s; ip address add 10.99.0.250/24 dev up9far", strangerMAC)
	c.to, c.ear = netip.MustParseAddr("10.99.0.250"), "up9far"
	return c.heard(t, mode, open, "other", "true", "ip link del own0")
}

// heard has an accomplice on the network hide its device and delete it, in a process's
// namespace.
func (c *captive) heard(t *testing.T, mode string, open bool, network, hide, del string) bool {
	t.Helper()
	c.Leave(t)
	accomplice := c.w.Pod(t, "accomplice", network)
	inner := start(t, accomplice.Netns, unix.CLONE_NEWNET)
	script := func(s string) string {
		if strings.Contains(s, "%") {
			return fmt.Sprintf(s, inner)
		}
		return s
	}
	accomplice.Sh(t, "ip link add link eth0 name own0 address %s type macvlan mode bridge; ip link set own0 up\n"+script(hide), strangerMAC)
	c.Join(t, network)
	accomplice.Sh(t, "%s", script(del))
	return c.tuckAway(t, mode, open, strangerMAC)
}

// tuckAway gives the container's device a MAC address and moves it to a namespace that
// nobody finds. It reports whether the detach says that all is well, and what is left of
// the container reaches the LAN.
func (c *captive) tuckAway(t *testing.T, mode string, open bool, mac heddle.MAC) bool {
	t.Helper()
	ns := world.NewNetns(t, "secret")
	c.Sh(t, `ip link set eth0 down; ip link set eth0 address %s
		ip link set eth0 netns secret name own0 && ip -n secret link set own0 up && ip -n secret address add %s/24 dev own0`, mac, c.V4())
	find := hide(t, ns)
	defer func() { // once it is found, it is taken away
		world.Soon(t, "detach", func() error {
			_, err := c.w.Detach(t.Context(), c.Endpoint.ID)
			return err
		})
	}()
	if open {
		c.byName(mode)
		c.nest = through(find())
		return within(world.Patience, c.reached)
	}
	_, err := c.w.Detach(t.Context(), c.Endpoint.ID)
	t.Logf("detach: %v", err)
	c.nest = through(find())
	if err != nil && !errors.Is(err, heddle.Quarantined.Sentinel()) {
		t.Errorf("the detach fails, and not because the device is in quarantine")
	}
	// an agent that searches just now may have had the namespace open
	return err == nil && within(world.Patience, c.reached)
}

// ledAway has the container make a device that has nothing of the endpoint's, in a
// namespace of its making. It succeeds if the detach says that all is well and the device
// is there: whether it is the container's or the user's cannot be told.
func ledAway(t *testing.T, mode string, open bool) bool {
	c := newCaptive(t, mode)
	c.Sh(t, `ip link add link eth0 name own0 address %[1]s type macvlan mode bridge; ip link set own0 netns %[2]d
		nsenter --net=/proc/%[2]d/ns/net sh -c 'ip link set own0 up; ip address add 192.0.2.99/24 dev own0'`, strangerMAC, c.inner)
	if open {
		c.byName(mode)
		there := within(world.Patience, c.reached)
		c.nest.Sh(t, "ip link del own0") // which else keeps the endpoint in quarantine
		return there
	}
	_, err := c.w.Detach(t.Context(), c.Endpoint.ID)
	t.Logf("detach: %v", err)
	if err != nil && !errors.Is(err, heddle.Quarantined.Sentinel()) {
		t.Errorf("the detach fails, and not because of the device")
	}
	there := c.reached()
	c.nest.TrySh("ip link del own0")
	world.Within(t, world.RepairTime, "the end of the quarantine", func() error {
		if all := c.w.Endpoints(); len(all) > 0 {
			return fmt.Errorf("%v", c.w.Status().Parts)
		}
		return nil
	})
	return err == nil && there
}

// TestWayToUsers: a device of the user's on the parent stays when a container goes that
// was joined with its namespace by a veth. One that came there meanwhile may be the
// container's: it stays as well, and the endpoint is in quarantine.
func TestWayToUsers(t *testing.T) {
	c := newCaptive(t, isMacvlan)
	c.Leave(t)
	users, ctx := world.NewNetns(t, "users"), t.Context()
	device := func(name string) {
		t.Helper()
		c.w.Host.Sh(t, "ip link add link up0 name %[1]s type macvlan mode bridge && ip link set %[1]s netns users && ip -n users link set %[1]s up", name)
	}
	attach := func() heddle.EndpointID {
		t.Helper()
		reply, err := c.w.Attach(ctx, c.w.Request(c.Netns, "net"))
		cell.Must(t, err)
		return reply.Endpoint.ID
	}
	device("users0")
	id := attach()
	c.w.Host.Sh(t, "ip link add way0 netns captive type veth peer name way1 netns users && ip -n captive link show way0")
	if _, err := c.w.Detach(ctx, id); err != nil {
		t.Errorf("detach: %v", err)
	}
	users.Sh(t, "ip link show users0")
	id = attach()
	device("users1")
	if _, err := c.w.Detach(ctx, id); !errors.Is(err, heddle.Quarantined.Sentinel()) {
		t.Errorf("detach, while a device came: %v", err)
	}
	users.Sh(t, "ip link show users0; ip link show users1; ip link del users1")
	world.Within(t, world.RepairTime, "the end of the quarantine", func() error {
		_, err := c.w.Detach(ctx, id)
		return err
	})
	users.Sh(t, "ip link show users0")
	c.w.AuditEmpty(t)
}

// TestQuarantine: what a container may still have is given to nobody, detach, status,
// audit and attach say so, also after a crash; and it ends when the container has ended.
func TestQuarantine(t *testing.T) {
	for _, mode := range soak.OneOf(t, isMacvlan, isDirect) {
		t.Run(mode, func(t *testing.T) {
			c := newCaptive(t, mode)
			id, ctx := c.Endpoint.ID, t.Context()
			ns := world.NewNetns(t, "secret")
			c.Sh(t, "ip link set eth0 netns secret name own0 && ip -n secret link set own0 up")
			find, another := hide(t, ns), world.NewNetns(t, "another")
			held := func(when string) {
				t.Helper()
				_, err := c.w.Detach(ctx, id)
				if !errors.Is(err, heddle.Quarantined.Sentinel()) || heddle.KindOf(err) != heddle.Partial {
					t.Errorf("%s: detach: %v", when, err)
				}
				found, err := c.w.Audit()
				cell.Must(t, err)
				if len(found) != 1 || found[0].Kind != "quarantine" || found[0].Owner != id.String() || found[0].Detail == "" {
					t.Errorf("%s: audit: %+v", when, found)
				}
				if p := c.w.Status().Part("quarantine"); p.State != "warn" || !strings.Contains(p.Detail, id.String()) {
					t.Errorf("%s: status: %+v", when, p)
				}
				if _, err := c.w.Attach(ctx, c.w.Request(c.Netns, "net")); !errors.Is(err, heddle.InQuarantine.Sentinel()) {
					t.Errorf("%s: attach of the same id: %v", when, err)
				}
				other := c.w.Request(another, "net")
				wrong := heddle.NICTaken
				if mode == isMacvlan {
					other.IPs, wrong = c.Addrs(), heddle.AddressTaken
				}
				if _, err := c.w.Attach(ctx, other); !errors.Is(err, wrong.Sentinel()) {
					t.Errorf("%s: attach of another: %v", when, err)
				}
			}
			held("at first")
			c.w.Restart(t, nil)
			held("after a restart")
			if mode == isMacvlan { // the container shows it
				c.nest = through(find())
			} else { // the hidden namespace ends, and the NIC with it
				cell.Must(t, find().Close())
			}
			world.Within(t, world.RepairTime, "the end of the quarantine", func() error {
				if all := c.w.Endpoints(); len(all) > 0 {
					return fmt.Errorf("%v", c.w.Status().Parts)
				}
				return nil
			})
			if c.reached() {
				t.Error("the container is on the LAN")
			}
			c.w.AuditEmpty(t)
		})
	}
}

// TestOthersOnParent: a second device of a container's making is shown while it is
// there, and goes at detach; a device of the user's, in a namespace of his, stays.
func TestOthersOnParent(t *testing.T) {
	c := newCaptive(t, isMacvlan)
	users := world.NewNetns(t, "users")
	c.w.Host.Sh(t, "ip link add link up0 name users0 type macvlan mode bridge && ip link set users0 netns users && ip -n users link set users0 up")
	c.w.AuditEmpty(t)
	c.Sh(t, "ip link add link eth0 name own0 type macvlan mode bridge && ip link set own0 up")
	found, err := c.w.Audit()
	cell.Must(t, err)
	if len(found) != 1 || found[0].Kind != "stranger" || found[0].Object != "link/own0" || found[0].Owner != c.Endpoint.ID.String() {
		t.Errorf("audit: %+v", found)
	}
	c.Leave(t)
	if out, err := c.TrySh("ip link show own0"); err == nil {
		t.Errorf("the container has kept its device: %s", out)
	}
	users.Sh(t, "ip link show users0")
}
