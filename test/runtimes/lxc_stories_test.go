package runtimes_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

func TestLXC(t *testing.T) {
	x := newLXC(t)
	for _, w := range told(t) {
		x.sub(w.mode, func() {
			x.networks(w)
			x.story("run", x.tellRun)
			if !w.briefly() {
				x.story("refused", x.tellRefused, 0)
				x.story("crash", x.tellCrash, 1)
			}
			if w.mode == "bridge" || w.mode == "macvlan" {
				x.story("crowd", x.tellCrowd, 2)
			}
			x.forget()
		})
	}
}

func (x lxc) story(name string, tell func(), turn ...int) {
	x.sub(name, func() {
		takeTurn(x.t, turn)
		defer func() {
			x.clear()
			x.empty()
		}()
		tell()
	})
}

// asked is a hook's line that asks for addresses, a MAC address, and ports where
// they are published.
func (x lxc) asked(want []netip.Addr) string {
	line := fmt.Sprintf("blue --ip %s --ip %s", want[0], want[1])
	if !x.wiring.nics {
		line += " --mac 0a:00:00:00:00:07"
	}
	if !x.wiring.onLAN {
		line += " --publish 8080:80 --publish 8080:80/udp"
	}
	return line
}

// tellRun starts containers, on two networks one of them, which talk; stops and
// starts one again; kills its first process; and lets it reboot.
func (x lxc) tellRun() {
	want := at(20, 7)
	x.create("a", x.asked(want), "red --ifname eth1")
	x.create("b", "blue")
	x.create("d", "red")
	x.start("a")
	b, d := x.start("b"), x.start("d")
	works := func() world.Netns {
		x.t.Helper()
		a := netnsOf("a", x.pid("a"))
		b.Gets(x.t, "a", 80, want...)
		a.Gets(x.t, "b", 80, addrs(x.endpoint("b", "eth0"))...)
		d.Gets(x.t, "a", 80, addrs(x.endpoint("a", "eth1"))...)
		a.Reaches(x.t, world.Beyond4, world.Beyond6)
		x.published("a", 8080, b)
		return a
	}
	works()
	mac := string(x.endpoint("a", "eth0").MAC)
	if seen := cell.Sh(x.t, "lxc-attach -n a -- /bin/ip -o link show eth0"); !strings.Contains(seen, mac) {
		x.t.Errorf("the container has %s, the endpoint %s", seen, mac)
	}
	cell.Sh(x.t, "lxc-stop -k -n a")
	x.notPublished(8080)
	x.start("a")
	works()
	cell.Sh(x.t, "kill -9 %s", x.pid("a"))
	x.stopped("a")
	x.gone("a")
	x.start("a")
	before := works()
	cell.TrySh("lxc-attach -n a -- /bin/busybox reboot -f") // cut off by what it does
	x.rebooted("a", before)
	works()
}

// rebooted waits until the container runs in another namespace than before.
func (x lxc) rebooted(name string, before world.Netns) {
	x.t.Helper()
	world.Within(x.t, 2*time.Minute, name+" runs again", func() error {
		pid, err := cell.TrySh("lxc-info -H -p -n %s", name)
		if err == nil && (pid == "" || netnsOf(name, pid) == before) {
			err = fmt.Errorf("its process is %q", pid)
		}
		return err
	})
	x.serves(netnsOf(name, x.pid(name)), 80)
}

// gone waits until none of a container's endpoints is left.
func (x lxc) gone(name string) {
	x.t.Helper()
	world.Within(x.t, time.Minute, name+" is detached", func() error {
		all, err := x.Endpoints(ctx)
		for _, e := range all {
			if e.ID.Container == name {
				err = fmt.Errorf("endpoint %s is left", e.ID)
			}
		}
		return err
	})
}

// tellRefused asks for what cannot be had: the container does not start, and
// nothing is left of it, not even of the network it could have.
func (x lxc) tellRefused() {
	want := at(20, 7)
	x.create("a", x.asked(want))
	x.start("a")
	x.create("b", "red", "blue --ifname eth1 --ip "+want[0].String())
	if out, err := cell.TrySh("lxc-start -n b -l DEBUG -o /var/lib/lxc/b/log"); err == nil {
		x.t.Errorf("a container has another one's address: %s", out)
	}
	if log := cell.Sh(x.t, "cat /var/lib/lxc/b/log"); !strings.Contains(log, "HDL-2007") {
		x.t.Errorf("LXC's log does not say why:\n%s", log)
	}
	x.gone("b")
}

// tellCrash stops one container while the agent is dead, and kills the first
// process of another: their traffic goes on until then, and they can start again
// when the agent is back.
func (x lxc) tellCrash() {
	want := at(20, 7)
	x.create("a", x.asked(want))
	x.create("b", "blue")
	x.create("c", "blue")
	x.start("a")
	x.start("b")
	c := x.start("c")
	x.crash()
	c.Gets(x.t, "a", 80, want...)
	x.published("a", 8080, c)
	cell.Sh(x.t, "kill -9 %s; lxc-stop -k -n b; lxc-stop -k -n c", x.pid("a"))
	x.stopped("a")
	if out, err := cell.TrySh("lxc-start -n b"); err == nil {
		x.t.Errorf("a container began without an agent: %s", out)
	}
	x.revive()
	a, b := x.start("a"), x.start("b")
	b.Gets(x.t, "a", 80, want...)
	a.Gets(x.t, "b", 80, addrs(x.endpoint("b", "eth0"))...)
	x.published("a", 8080, b)
	// nobody told the agent of c's end
	cell.Sh(x.t, "heddle gc")
	x.gone("c")
}
