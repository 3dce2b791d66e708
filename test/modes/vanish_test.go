package modes_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/agent"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestVanish: an endpoint whose container ended without a word is removed, for each way in which
// clients name a container, also by an agent that was away, and if its path leads to another one by
// now. What lives stays: a namespace without its name, one whose first process has ended, a container
// that has deleted its interface, and an endpoint of mode host.
func TestVanish(t *testing.T) {
	for _, mode := range []string{"bridge", "routed", "macvlan"} {
		t.Run(mode, func(t *testing.T) { vanish(t, mode) })
	}
}

func vanish(t *testing.T, mode string) {
	w := world.New(t, func(o *agent.Options) { o.Patrol = 200 * time.Millisecond })
	var options []world.NetworkOption
	if mode == "macvlan" {
		options = append(options, onLAN)
	}
	w.Network(t, "net", mode, options...)
	w.Network(t, "plain", "host", func(n *heddle.Network) { n.Subnets = nil })
	attach := func(in world.Netns, network string, options ...world.PodOption) heddle.EndpointID {
		t.Helper()
		r := w.Request(in, network, options...)
		_, err := w.Attach(ctx, r)
		cell.Must(t, err)
		return r.ID
	}
	owner := func(s string) world.PodOption { return func(r *heddle.AttachRequest) { r.Owner = s } }
	first, child := newSleeper(t, unix.CLONE_NEWUSER), newSleeper(t, 0) // the first as a rootless container

	var dead, alive []heddle.EndpointID
	named, runtime := world.NewNetns(t, "named"), world.NewNetns(t, "sandbox")
	away, elsewhere := world.NewNetns(t, "away"), world.NewNetns(t, "elsewhere")
	dead = append(dead, attach(named, "net", owner("cli")), attach(runtime, "net", owner("cni/net")),
		attach(first.netns("pid"), "net", owner("cli")), attach(away, "net"), attach(elsewhere, "net"))
	unnamed := world.NewNetns(t, "unnamed")
	alive = append(alive, attach(unnamed, "net"), attach(child.netns("parent"), "net"), attach(world.Netns{Name: "plain"}, "plain"))
	bare := world.NewNetns(t, "bare")
	own := attach(bare, "net")
	alive = append(alive, own)

	cell.Sh(t, "mkdir -p /run/other; touch /run/other/a; mount --bind %s /run/other/a", unnamed.Path)
	t.Cleanup(func() { cell.TrySh("umount /run/other/a") })
	unnamed.Delete()
	heir := child.fork(t)
	child.end(t)
	bare.Sh(t, "ip link del eth0")
	named.Delete()
	runtime.Delete()
	first.end(t)
	elsewhere.Delete()
	world.NewNetns(t, "elsewhere") // as a number of a process that is used again
	w.Restart(t, away.Delete)

	world.Within(t, 20*world.Patience, "only what lives is left", func() error {
		for _, e := range w.Endpoints() {
			if slices.Contains(dead, e.ID) {
				return fmt.Errorf("%s is left", e.ID)
			}
		}
		return nil
	})
	for _, id := range alive {
		if _, err := w.Endpoint(id); err != nil {
			t.Error(err)
		}
	}
	_, err := w.Detach(ctx, own)
	cell.Must(t, err)
	w.AuditEmpty(t)
	heir.end(t)
	// the agent, which looks for containers' namespaces, may have it open
	world.Soon(t, "the namespace is unmounted", func() error {
		_, err := cell.TrySh("umount /run/other/a")
		return err
	})
	world.Within(t, 20*world.Patience, "the last ones go, too", func() error {
		if left := w.Endpoints(); len(left) != 1 || left[0].ID != alive[2] {
			return fmt.Errorf("left: %v", left)
		}
		return nil
	})
	_, err = w.Detach(ctx, alive[2])
	cell.Must(t, err)
	w.AuditEmpty(t)
}

// sleeper is a process in a network namespace of its own.
type sleeper struct{ *exec.Cmd }

// newSleeper starts one, in further new namespaces.
func newSleeper(t *testing.T, flags uintptr) sleeper {
	t.Helper()
	s := sleeper{exec.Command("sleep", "infinity")}
	s.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | flags, Pdeathsig: syscall.SIGKILL}
	cell.Must(t, s.Start())
	t.Cleanup(func() { s.end(t) })
	return s
}

// fork starts another process in the sleeper's namespace.
func (s sleeper) fork(t *testing.T) sleeper {
	t.Helper()
	heir := sleeper{exec.Command("nsenter", "--net="+s.netns("").Path, "sleep", "infinity")}
	heir.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cell.Must(t, heir.Start())
	t.Cleanup(func() { heir.end(t) })
	world.Soon(t, "it is there", func() error {
		own, there := cell.Sh(t, "readlink %s", s.netns("").Path), cell.Sh(t, "readlink %s", heir.netns("").Path)
		if strings.TrimSpace(own) != strings.TrimSpace(there) {
			return fmt.Errorf("in %s", there)
		}
		return nil
	})
	return heir
}

func (s sleeper) netns(name string) world.Netns {
	return world.Netns{Name: name, Path: fmt.Sprintf("/proc/%d/ns/net", s.Process.Pid)}
}

func (s sleeper) end(t *testing.T) {
	t.Helper()
	if s.ProcessState == nil {
		s.Process.Kill()
		s.Wait()
	}
}
