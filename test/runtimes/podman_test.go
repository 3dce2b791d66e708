package runtimes_test

import (
	"fmt"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// podman is a host with Podman, set up as its guide says, and the image box.
type podman struct{ *host }

// newPodman writes what the guide writes, and beside it what a cell needs:
// storage that every file system has, no cgroups, and limits that the machine's
// root may set.
func newPodman(t *testing.T) podman {
	t.Helper()
	p := podman{newHost(t, "podman crun", "podman", "crun", "busybox")}
	cell.Sh(t, `mkdir -p /etc/containers/containers.conf.d /etc/cni/net.d
		printf '[network]\nnetwork_backend = "cni"\n' >/etc/containers/containers.conf.d/10-heddle.conf
		printf '[containers]\ncgroups = "disabled"\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n[engine]\nruntime = "crun"\n' >/etc/containers/containers.conf.d/90-cell.conf
		printf '[storage]\ndriver = "vfs"\nrunroot = "/run/containers/storage"\ngraphroot = "/var/lib/containers/storage"\n' >/etc/containers/storage.conf`)
	t.Cleanup(p.clear)
	cell.Sh(t, "tar -C %s -c . | podman import - box", rootfs(t))
	return p
}

// networks writes two configurations of the mode, blue and red.
func (p podman) networks(w wiring) {
	p.t.Helper()
	write(p.t, "/etc/cni/net.d/20-blue.conflist", w.conflist("blue", 20))
	write(p.t, "/etc/cni/net.d/21-red.conflist", w.conflist("red", 21))
	p.t.Cleanup(func() { cell.TrySh("rm -f /etc/cni/net.d/2?-*.conflist") })
	p.surround(w, 20, 21)
}

// clear removes all pods and containers.
func (p podman) clear() {
	out, err := cell.TrySh("podman pod rm -af -t 0; podman rm -af -t 0")
	if err != nil {
		p.t.Errorf("podman rm: %s", out)
	}
}

// do runs a podman command and returns what it printed.
func (p podman) do(command string, args ...any) string {
	p.t.Helper()
	return cell.Sh(p.t, "podman "+command, args...)
}

// ask inspects a container.
func (p podman) ask(name, format string) string {
	p.t.Helper()
	return p.do("inspect --format '%s' %s", format, name)
}

// run starts a container that serves at port 80 under its own name.
func (p podman) run(name, flags string) world.Netns {
	p.t.Helper()
	p.do("run -d --name %s %s box /bin/serve %[1]s 80", name, flags)
	return p.netns(name)
}

// netns is the container's namespace, once it serves.
func (p podman) netns(name string) world.Netns {
	p.t.Helper()
	at := netnsOf(name, p.ask(name, "{{.State.Pid}}"))
	p.serves(at, 80)
	return at
}

// publish are the flags that publish port 80, over TCP and UDP.
func (p podman) publish(port int) string {
	if p.wiring.onLAN {
		return ""
	}
	return fmt.Sprintf(" -p %d:80 -p %[1]d:80/udp", port)
}

// mac is the flag that asks for a MAC address, where a NIC has none of its own.
func (p podman) mac(address string) string {
	if p.wiring.nics {
		return ""
	}
	return " --mac-address " + address
}

// id is the container's, as the runtime tells it to CNI.
func (p podman) id(name string) string { return p.ask(name, "{{.Id}}") }
