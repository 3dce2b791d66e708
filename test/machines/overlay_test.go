// Package machines_test has agents on hosts with kernels of their own: virtual
// machines, beside what labs of namespaces show on this machine's kernel.
package machines_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/lab/boot"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/cloud"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
)

func TestMain(m *testing.M) {
	lab.Dispatch(os.Args[1:])
	cloud.Dispatch(os.Args[1:])
	os.Exit(cell.Main(m))
}

// limit is how long a command may take: the processor is emulated.
const limit = 3 * time.Minute

// TestOverlayInGuests joins containers on two machines, and sees the overlay outlive its
// agents' deaths and a cut.
func TestOverlayInGuests(t *testing.T) {
	cell.Need(t)
	for _, kernel := range boot.Versions() {
		t.Run("linux-"+kernel, func(t *testing.T) {
			soak.Need(t, "two machines, each with an emulated processor, take minutes")
			needMachines(t, kernel)
			l := pair(t, kernel)
			overlay(t, l, attach(t, l))
		})
	}
}

// needMachines skips the test where machines cannot run.
func needMachines(t *testing.T, kernel string) {
	t.Helper()
	if reason := lab.MissingForMachines(kernel); reason != "" {
		if os.Getenv("HEDDLE_REQUIRE_VM") == "1" {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
}

// pair is two machines whose agents share a store. Its server is on a host of this
// machine's kernel: it promises answers in time.
func pair(t *testing.T, kernel string) *lab.Lab {
	t.Helper()
	return raise(t, lab.Topology{Name: "machines", Machine: kernel, Store: lab.StoreEtcd, Etcd: []string{"store"},
		Hosts: []lab.Node{{Name: "host1"}, {Name: "host2"}, {Name: "store", Machine: lab.Namespaces, Agent: lab.Agent{Off: true}}}})
}

// raise makes a lab with our agents for the length of the test.
func raise(t *testing.T, topology lab.Topology) *lab.Lab {
	t.Helper()
	start := time.Now()
	if topology.Dir == "" {
		topology.Dir = t.TempDir()
	}
	topology.Agent = lab.Agent{Command: []string{cell.Build(t, "heddled")}, Args: []string{"--fast-path", "off"}} // package fast has its programs in guests
	l, err := lab.Raise(t.Context(), topology)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("machines with agents (%s): up in %.1f s", l.Hosts[0].Accelerator, time.Since(start).Seconds())
	t.Cleanup(func() {
		if t.Failed() {
			for _, h := range l.Hosts {
				text, _ := os.ReadFile(h.Log)
				t.Logf("%s:\n%s", h.Name, text)
			}
		}
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// attach makes a container on each machine, in one network, and returns their
// addresses of both families.
func attach(t *testing.T, l *lab.Lab) (all [2][]string) {
	t.Helper()
	// Where the processor has much else to do, the mode's trial on the machine's kernel
	// outlasts the client, but not the agent.
	if out, err := try(t, l, "host1", command(t, "network", "create", "web", "--mode", "overlay", "--subnet", "10.77.0.0/16", "--subnet", "fd77::/64")...); err != nil {
		t.Logf("network create: %v\n%s", err, out)
	}
	for _, host := range []string{"host1", "host2"} {
		soon(t, host+" knows the network", func() bool {
			_, err := try(t, l, host, command(t, "network", "show", "web")...)
			return err == nil
		})
	}
	for i, host := range []string{"host1", "host2"} {
		in(t, l, host, "ip", "netns", "add", "c")
		heddleOn(t, l, host, "attach", "web", "--netns", "c", "--id", host)
		for _, family := range []string{"-4", "-6"} {
			out := in(t, l, host, "ip", "-n", "c", "-o", family, "address", "show", "dev", "eth0", "scope", "global")
			fields := strings.Fields(out)
			if len(fields) < 4 {
				t.Fatalf("no address: %q", out)
			}
			addr, _, _ := strings.Cut(fields[3], "/")
			all[i] = append(all[i], addr)
		}
	}
	return all
}

func overlay(t *testing.T, l *lab.Lab, containers [2][]string) {
	ctx := t.Context()
	both := func(want bool) {
		t.Helper()
		for i, host := range []string{"host1", "host2"} {
			for _, to := range containers[1-i] {
				soon(t, host+" to "+to, func() bool {
					_, err := try(t, l, host, "ip", "netns", "exec", "c", "ping", "-n", "-c1", "-W2", to)
					return (err == nil) == want
				})
			}
		}
	}
	both(true)
	for _, h := range l.Hosts[:2] {
		if err := l.KillAgent(ctx, h.Name); err != nil {
			t.Fatal(err)
		}
	}
	both(true)
	for _, h := range l.Hosts[:2] {
		if err := h.StartAgent(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Cut(ctx, "host1", "host2", false); err != nil {
		t.Fatal(err)
	}
	both(false)
	if err := l.Heal(ctx, "host1", "host2"); err != nil {
		t.Fatal(err)
	}
	both(true)
	for _, host := range []string{"host1", "host2"} {
		heddleOn(t, l, host, "detach", host)
		heddleOn(t, l, host, "audit")
	}
}

func command(t *testing.T, args ...string) []string {
	return append([]string{cell.Build(t, "heddle")}, args...)
}

// heddleOn runs the command line on a host. An emulated processor that has much else to
// do may not hear from the store in time; then the caller is told to wait, and does so.
func heddleOn(t *testing.T, l *lab.Lab, host string, args ...string) {
	t.Helper()
	var out string
	var err error
	for range 20 {
		if out, err = try(t, l, host, command(t, args...)...); err == nil {
			return
		}
		if !strings.Contains(out, "[HDL-8001]") {
			break
		}
		time.Sleep(3 * time.Second)
	}
	t.Fatalf("%s: heddle %s: %v\n%s", host, strings.Join(args, " "), err, out)
}

func in(t *testing.T, l *lab.Lab, host string, argv ...string) string {
	t.Helper()
	out, err := try(t, l, host, argv...)
	if err != nil {
		t.Fatalf("%s: %s %s: %v\n%s", host, filepath.Base(argv[0]), strings.Join(argv[1:], " "), err, out)
	}
	return out
}

func try(t *testing.T, l *lab.Lab, host string, argv ...string) (string, error) {
	t.Helper()
	h, err := l.Host(host)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cmd, err := h.Command(ctx, argv...)
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func soon(t *testing.T, what string, ok func() bool) {
	t.Helper()
	poll.For(t, limit, 200*time.Millisecond, what, ok)
}
