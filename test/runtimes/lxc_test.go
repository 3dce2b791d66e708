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

// lxc is a host with Debian's LXC, whose containers are attached by our hook.
type lxc struct {
	*host
	root string
}

func newLXC(t *testing.T) lxc {
	t.Helper()
	x := lxc{host: newHost(t, "lxc busybox-static", "lxc-start", "busybox")}
	x.root = rootfs(t)
	write(t, "/etc/lxc/lxc.conf", "lxc.cgroup.pattern = "+cgroup(t)+"/%n\n")
	t.Cleanup(x.clear)
	return x
}

// clear removes all containers.
func (x lxc) clear() {
	if out, err := cell.TrySh(`for name in $(lxc-ls -1 2>/dev/null); do
		lxc-stop -k -n $name || test $? = 2
		rm -r /var/lib/lxc/$name
	done`); err != nil {
		x.t.Errorf("lxc-stop: %s", out)
	}
}

// lxcConfig is a container that serves at port 80 under its own name.
const lxcConfig = `lxc.uts.name = %[1]s
lxc.rootfs.path = dir:/var/lib/lxc/%[1]s/rootfs
lxc.init.cmd = /bin/serve %[1]s 80
lxc.net.0.type = empty
lxc.hook.version = 1
`

// create makes a container with the hook's lines.
func (x lxc) create(name string, hooks ...string) {
	x.t.Helper()
	cell.Sh(x.t, "mkdir -p /var/lib/lxc/%s && cp -a %s /var/lib/lxc/%[1]s/rootfs", name, x.root)
	config := fmt.Sprintf(lxcConfig, name)
	for _, h := range hooks {
		for _, moment := range []string{"start-host", "post-stop"} {
			config += fmt.Sprintf("lxc.hook.%s = /usr/local/share/heddle/lxc/heddle-lxc-hook %s\n", moment, h)
		}
	}
	write(x.t, "/var/lib/lxc/"+name+"/config", config)
}

// start starts a container and waits until it serves.
func (x lxc) start(name string) world.Place {
	x.t.Helper()
	cell.Sh(x.t, "lxc-start -n %s -l DEBUG -o /var/lib/lxc/%[1]s/log || { cat /var/lib/lxc/%[1]s/log; exit 1; }", name)
	p := place(name, x.pid(name))
	x.serves(p, 80)
	return p
}

func (x lxc) pid(name string) string {
	x.t.Helper()
	return cell.Sh(x.t, "lxc-info -H -p -n %s", name)
}

// stopped waits until LXC has stopped a container, hooks and all.
func (x lxc) stopped(name string) {
	x.t.Helper()
	if out, err := cell.TrySh("lxc-wait -n %s -s STOPPED -t 20", name); err != nil {
		x.t.Errorf("%s does not stop: %s", name, out)
	}
}

// networks makes two networks of the mode.
func (x lxc) networks(w wiring) {
	x.t.Helper()
	x.surround(w, 20, 21)
	for name, number := range map[string]int{"blue": 20, "red": 21} {
		cell.Sh(x.t, "heddle network create %s %s", name, w.flags(number))
	}
}

func TestLXC(t *testing.T) {
	x := newLXC(t)
	for _, w := range wirings {
		x.sub(w.mode, func() {
			x.networks(w)
			x.story("run", x.tellRun)
			x.story("refused", x.tellRefused)
			x.story("crash", x.tellCrash)
			x.forget()
		})
	}
}

func (x lxc) story(name string, tell func()) {
	x.sub(name, func() {
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
	works := func() world.Place {
		x.t.Helper()
		a := place("a", x.pid("a"))
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
func (x lxc) rebooted(name string, before world.Place) {
	x.t.Helper()
	world.Within(x.t, 20*time.Second, name+" runs again", func() error {
		pid, err := cell.TrySh("lxc-info -H -p -n %s", name)
		if err == nil && (pid == "" || place(name, pid) == before) {
			err = fmt.Errorf("its process is %q", pid)
		}
		return err
	})
	x.serves(place(name, x.pid(name)), 80)
}

// gone waits until none of a container's endpoints is left.
func (x lxc) gone(name string) {
	x.t.Helper()
	world.Within(x.t, 10*time.Second, name+" is detached", func() error {
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
