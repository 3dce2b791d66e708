package runtimes_test

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/vm"
)

// newNetavark is the Podman of Debian 13 with its default network stack: /usr has that Podman, and
// all that it depends on, above what the machine has.
func newNetavark(t *testing.T) podman {
	t.Helper()
	cell.Need(t)
	if err := furnish(); err != nil {
		t.Fatal(err)
	}
	tree := vm.Packages(t, "podman")
	above(t, tree)
	cell.Sh(t, "mkdir -p /etc/containers && cp -r %s/etc/containers/. /etc/containers/", tree)
	t.Setenv("PODMAN_IGNORE_CGROUPSV1_WARNING", "1")
	p := podman{host: newHost(t, "podman crun", "podman", "crun", "busybox"), taken: "address already in use"}
	p.create = func(w wiring, name string, number int) {
		asPodman := strings.NewReplacer("--mode ", "--opt mode=", "--parent ", "--opt parent=")
		p.do("network create --driver heddle %s %s", asPodman.Replace(w.flags(number)), name)
		p.t.Cleanup(func() { p.do("network rm %s", name) })
	}
	p.portOnLAN = func(flags string) { // as on Podman's own macvlan networks
		if out := p.do("run --rm %s box /bin/sleep 0", flags); !strings.Contains(out, "network blue does not publish 8080:80/tcp: a container on") {
			p.t.Errorf("a port on the LAN: %s", out)
		}
	}
	p.setUp("netavark")
	if version := p.do("version --format '{{.Client.Version}}'"); !strings.HasPrefix(version, "5.") {
		t.Fatalf("podman %s, want that of Debian 13", version)
	}
	return p
}

// TestNetavark tells every story in every mode by Podman's default network stack, and those of
// netavark alone.
func TestNetavark(t *testing.T) {
	p := newNetavark(t)
	p.tell()
	p.sub("own", func() {
		p.networks(wirings[0])
		p.story("names", p.tellNames, 0)
		p.story("addresses", p.tellAddresses, 1)
		p.story("beside", p.tellBeside, 2)
		p.story("several", p.tellSeveral, 0)
		p.story("create", p.tellCreate, 1)
		p.story("dhcp", p.tellDHCP, 2)
		p.story("killed", p.tellKilled, 2)
		p.story("rootless", p.tellRootless, 1)
		p.forget()
	})
}
