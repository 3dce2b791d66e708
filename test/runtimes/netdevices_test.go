package runtimes_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/guide"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/vm"
	"github.com/heddle-network/heddle/test/world"
)

// netDevicesRuntime is a runtime that moves interfaces (linux.netDevices of the OCI runtime specification, 1.3): the crun of Debian's next release,
// which is above what the machine has, or HEDDLE_OCI.
func netDevicesRuntime(t *testing.T) string {
	t.Helper()
	cell.Need(t)
	program := os.Getenv("HEDDLE_OCI")
	if program == "" {
		above(t, vm.Packages(t, "crun"))
		program = "crun"
	}
	var can struct {
		Linux struct {
			NetDevices struct{ Enabled bool }
		}
	}
	out, err := exec.Command(program, "features").Output()
	if err == nil {
		err = json.Unmarshal(out, &can)
	}
	if err != nil || !can.Linux.NetDevices.Enabled {
		t.Fatalf("%s moves no interfaces: %v\n%s", program, err, out)
	}
	return program
}

// bundle makes a container's bundle that has a runtime move an interface of the host's into a network namespace.
func (h *host) bundle(root, netns, source, name string) string {
	h.t.Helper()
	dir := filepath.Join(h.t.TempDir(), "bundle")
	type object = map[string]any
	mount := func(to, kind string) object { return object{"destination": to, "type": kind, "source": kind} }
	listen := []string{"CAP_NET_BIND_SERVICE"}
	text, err := json.Marshal(object{
		"ociVersion": "1.3.0", "root": object{"path": root, "readonly": true}, "hostname": "web",
		"process": object{"args": []string{"/bin/serve", "web", "80"}, "cwd": "/", "user": object{"uid": 0, "gid": 0}, "env": []string{"PATH=/bin"},
			"capabilities": object{"bounding": listen, "effective": listen, "permitted": listen}},
		"mounts": []object{mount("/proc", "proc"), mount("/dev", "tmpfs")},
		"linux": object{"namespaces": []object{{"type": "pid"}, {"type": "mount"}, {"type": "uts"}, {"type": "ipc"}, {"type": "network", "path": netns}},
			"netDevices": object{source: object{"name": name}}},
	})
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600)
	}
	cell.Must(h.t, err)
	return dir
}

// TestNetDevicesGuide types the guide.
func TestNetDevicesGuide(t *testing.T) {
	soak.Turn(t, 1)
	runtime, err := exec.LookPath(netDevicesRuntime(t))
	cell.Must(t, err)
	h := newHost(t, "busybox-static", "busybox")
	path := t.TempDir()
	cell.Must(t, os.Symlink(runtime, filepath.Join(path, "runc")))
	guide.Typist{Fewest: 4, Limit: time.Minute, Path: path}.Type(t, "oci.md")
	h.empty()
}

// TestNetDevices: a runtime moves the interface into the container, as its configuration says, and does nothing else. The agent gives it addresses and
// routes, also if it is killed and comes back later; a NIC comes back as it was.
func TestNetDevices(t *testing.T) {
	runtime := netDevicesRuntime(t)
	h := newHost(t, "busybox", "busybox")
	root := rootfs(t)
	cell.Sh(t, `ip link add nic1 type veth peer name eth1 netns outside; ip -n outside address add 10.51.0.1/24 dev eth1; ip -n outside address add fd51::1/64 dev eth1 nodad; ip -n outside link set eth1 up`)
	t.Cleanup(func() { cell.TrySh("ip link del nic1") })
	before := cell.Sh(t, "ip -d address show dev nic1 | sed 's/if[0-9]*//'")
	for _, n := range []heddle.Network{
		{Name: "front", Mode: "bridge", Subnets: []netip.Prefix{netip.MustParsePrefix("10.50.0.0/24"), netip.MustParsePrefix("fd50::/64")}},
		{Name: "lan", Mode: "direct", Options: map[string]string{"nics": "nic1"}, Subnets: []netip.Prefix{netip.MustParsePrefix("10.51.0.0/24"), netip.MustParsePrefix("fd51::/64")},
			Gateways: []netip.Addr{netip.MustParseAddr("10.51.0.1"), netip.MustParseAddr("fd51::1")}},
	} {
		_, _, err := h.CreateNetwork(ctx, n, false)
		cell.Must(t, err)
		for _, killed := range []bool{false, true} {
			h.sub(fmt.Sprintf("%s, killed %v", n.Mode, killed), func() {
				ns := world.NewNetns(h.t, "web")
				r, err := h.Attach(ctx, heddle.AttachRequest{Network: n.Name, ID: heddle.EndpointID{Container: "web", IfName: "eth0"}, Netns: "/run/netns/web", Handover: true, LinkOnly: true})
				cell.Must(h.t, err)
				again, err := h.Attach(ctx, heddle.AttachRequest{Network: n.Name, ID: r.Endpoint.ID, Netns: "/run/netns/web", Handover: true, LinkOnly: true})
				if cell.Must(h.t, err); !again.Existed || again.Source != r.Source {
					h.t.Errorf("asked again: %+v", again)
				}
				bundle := h.bundle(root, "/run/netns/web", r.Source, "eth0")
				if killed {
					h.crash()
				}
				cell.Sh(h.t, "%s run --detach --bundle %s web </dev/null >/run/web.log 2>&1 || { cat /run/web.log; false; }", runtime, bundle)
				defer cell.TrySh("%s delete --force web", runtime)
				if killed {
					h.revive()
				}
				for _, a := range r.Endpoint.Addrs {
					world.Within(h.t, time.Minute, "the container answers at "+a.Addr().String(), func() error {
						_, err := h.outside.Ask("tcp", netip.AddrPortFrom(a.Addr(), 80))
						if n.Mode == "bridge" {
							_, err = h.own.Ask("tcp", netip.AddrPortFrom(a.Addr(), 80))
						}
						return err
					})
				}
				ns.Reaches(h.t, r.Gateways...)
				ns.Reaches(h.t, world.Outside4, world.Outside6) // by its default route
				h.AuditEmpty(h.t)
				cell.Sh(h.t, "%s delete --force web", runtime)
				_, err = h.Detach(ctx, r.Endpoint.ID)
				cell.Must(h.t, err)
				h.AuditEmpty(h.t)
			})
		}
	}
	if after := cell.Sh(t, "ip -d address show dev nic1 | sed 's/if[0-9]*//'"); after != before {
		t.Errorf("the NIC was\n%s\nand is\n%s", before, after)
	}
}
