package runtimes_test

import (
	"fmt"
	"testing"

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
func (x lxc) start(name string) world.Netns {
	x.t.Helper()
	cell.Sh(x.t, "lxc-start -n %s -l DEBUG -o /var/lib/lxc/%[1]s/log || { cat /var/lib/lxc/%[1]s/log; exit 1; }", name)
	p := netnsOf(name, x.pid(name))
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
	if out, err := cell.TrySh("lxc-wait -n %s -s STOPPED -t 120", name); err != nil {
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
