// Package runtimes_test drives the container runtimes that Debian has, as their
// users do, with heddle for a network: Podman by netavark and by CNI, containerd
// by its CRI socket, LXC by hooks. Nothing is pulled: images are made here.
package runtimes_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

func TestMain(m *testing.M) {
	lab.Dispatch(os.Args[1:])
	os.Exit(cell.Main(m))
}

var ctx = context.Background()

// A host has an uplink, heddle as make install leaves it, and a runtime. Its
// outside is a namespace at the uplink's other end.
//
//	container ═══ host ── up0 ═══ eth0 ── outside
//	          192.0.2.1, 2001:db8::1    192.0.2.2, 2001:db8::2
type host struct {
	*cell.Agent
	// t is the test, or the subtest, that goes on; life is the whole one.
	t, life *testing.T
	dir     string
	wiring  wiring
	nics    []string // that containers get, and that come back
	flags   []string // of agents that are revived
	own     world.Netns
	outside world.Netns
}

// newHost makes a host for the length of the test; it skips the test where one
// of the runtime's programs is missing. At the end the agent, made anew if it is
// down, finds nothing of the test's left.
func newHost(t *testing.T, debian string, programs ...string) *host {
	t.Helper()
	cell.Need(t)
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed: apt-get install %s", p, debian)
		}
	}
	if err := furnish(); err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, life: t, dir: t.TempDir(), own: world.Netns{Name: "host"}, outside: world.NewNetns(t, "outside")}
	h.wire()
	install(t)
	// the folders are the usual ones: runtimes do not pass their environment on
	cell.Sh(t, "ln -sfn %s/run /run/heddle; ln -sfn %[1]s/state /var/lib/heddle", h.dir)
	t.Cleanup(func() { cell.Sh(t, "rm /run/heddle /var/lib/heddle") })
	h.Agent = cell.Start(t, h.dir)
	t.Cleanup(h.end)
	return h
}

func (h *host) wire() {
	cell.Sh(h.t, `ip link add up0 type veth peer name eth0 netns outside
		ip address add %s/24 dev up0; ip address add %s/64 dev up0 nodad; ip link set up0 up
		ip -n outside link set lo up
		ip -n outside address add %s/24 dev eth0; ip -n outside address add %s/64 dev eth0 nodad
		ip -n outside address add %s/32 dev lo; ip -n outside address add %s/128 dev lo nodad
		ip -n outside link set eth0 up
		ip route add default via %[3]s; ip -6 route add default via %[4]s`,
		world.Host4, world.Host6, world.Outside4, world.Outside6, world.Beyond4, world.Beyond6)
	h.t.Cleanup(func() { cell.TrySh("ip link del up0") })
	world.Ready(h.t, "up0", h.outside)
}

// install runs make install's script on the cell's own folders.
func install(t *testing.T) {
	t.Helper()
	var bin string
	for _, name := range []string{"heddle", "heddled", "heddle-cni"} {
		bin = filepath.Dir(cell.Build(t, name))
	}
	cell.Sh(t, "HEDDLE_BIN=%s ../../packaging/install.sh '' /usr/local", bin)
}

// sub runs a subtest on the same host.
func (h *host) sub(name string, f func()) {
	outer := h.t
	defer func() { h.t = outer }()
	outer.Run(name, func(t *testing.T) {
		h.t = t
		f()
	})
}

// end deletes the networks and looks for what is left.
func (h *host) end() {
	if h.Dead() {
		h.revive()
	}
	h.forget()
	if h.t.Failed() {
		log, _ := os.ReadFile(h.Log)
		h.t.Logf("agent's log:\n%s", log)
	}
}

// forget deletes all networks, after which the host is as it was.
func (h *host) forget() {
	h.t.Helper()
	h.empty()
	all, err := h.Networks(ctx)
	for _, n := range all {
		err = errors.Join(err, h.DeleteNetwork(ctx, n.Name))
	}
	if err != nil {
		h.t.Error(err)
	}
	h.AuditEmpty(h.t)
	world.NoTrace(h.t)
}

// crash ends the agent as kill -9 does; revive starts another.
func (h *host) crash() { h.Kill() }

func (h *host) revive() {
	h.t.Helper()
	a, err := cell.TryStartWith(h.life, h.dir, h.flags)
	if err != nil {
		h.t.Fatal(err)
	}
	h.Agent = a
}

// resolve has the agent answer containers that ask for names, from now on.
func (h *host) resolve() {
	h.t.Helper()
	h.crash()
	h.flags = []string{"--resolver", "gateway"}
	h.revive()
}

// queued waits until so many DELs lie in the plugin's queue.
func (h *host) queued(want int) {
	h.t.Helper()
	world.Within(h.t, 2*time.Minute, "the DELs are queued", func() error {
		all, err := os.ReadDir("/var/lib/heddle/cni-queue")
		if err == nil && len(all) != want {
			err = fmt.Errorf("%d in the queue, want %d", len(all), want)
		}
		return err
	})
}

// empty waits until no endpoint is left (runtimes clean up by processes of
// their own), and checks that nothing is lost or held: no finding, no address.
func (h *host) empty() {
	h.t.Helper()
	world.Within(h.t, 2*time.Minute, "all endpoints are gone", func() error {
		all, err := h.Endpoints(ctx)
		if err == nil && len(all) > 0 {
			err = fmt.Errorf("%d endpoints left, such as %s", len(all), all[0].ID)
		}
		return err
	})
	for _, nic := range h.nics {
		if out, err := cell.TrySh("ip link show dev %s up", nic); err != nil || out == "" {
			h.t.Errorf("NIC %s did not come back as it was: %s", nic, out)
		}
	}
	h.AuditEmpty(h.t)
	s, err := h.Status(ctx)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, n := range s.Networks {
		if n.Endpoints != 0 {
			h.t.Errorf("network %s has %d endpoints", n.Name, n.Endpoints)
		}
	}
}
