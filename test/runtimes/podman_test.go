package runtimes_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// podman is a host with Podman, set up as its guide says, and the image box.
type podman struct {
	*host
	// create makes one of the networks that the stories have.
	create func(w wiring, name string, number int)
	// taken are the words about a port that another container has published.
	taken string
	// portOnLAN starts a container that asks for a port on a LAN, where none can be published.
	portOnLAN func(flags string)
}

// newPodman is the host's Podman with its CNI back end.
func newPodman(t *testing.T) podman {
	t.Helper()
	p := podman{host: newHost(t, "podman crun", "podman", "crun", "busybox"), taken: "HDL-2010"}
	p.create = func(w wiring, name string, number int) {
		path := fmt.Sprintf("/etc/cni/net.d/%d-%s.conflist", number, name)
		write(p.t, path, w.conflist(name, number))
		p.t.Cleanup(func() { os.Remove(path) })
	}
	p.portOnLAN = func(flags string) { p.refuses("a port on the LAN", flags, "publish") }
	p.setUp("cni")
	return p
}

// setUp writes what the guide writes, and beside it what a cell needs: storage
// that every file system has, no cgroups, and limits that the machine's root may
// set. It imports the image.
func (p podman) setUp(backend string) {
	p.t.Helper()
	cell.Sh(p.t, `rm -rf /var/lib/containers /run/containers /run/libpod /dev/shm/libpod*
		mkdir -p /etc/containers/containers.conf.d /etc/cni/net.d
		printf '[network]\nnetwork_backend = "%s"\n' >/etc/containers/containers.conf.d/10-heddle.conf
		printf '[containers]\ncgroups = "disabled"\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n[engine]\nruntime = "crun"\n' >/etc/containers/containers.conf.d/90-cell.conf
		printf '[storage]\ndriver = "vfs"\nrunroot = "/run/containers/storage"\ngraphroot = "/var/lib/containers/storage"\n' >/etc/containers/storage.conf`, backend)
	p.t.Cleanup(p.clear)
	cell.Sh(p.t, "tar -C %s -c . | podman import - box", rootfs(p.t))
}

// networks makes two networks of the mode, blue and red.
func (p podman) networks(w wiring) {
	p.t.Helper()
	p.surround(w, 20, 21)
	p.create(w, "blue", 20)
	p.create(w, "red", 21)
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
