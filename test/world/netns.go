package world

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/lazyregexp"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// Netns is a network namespace. With an empty Path it is the host's own.
type Netns struct{ Name, Path string }

// NewNetns makes a named network namespace for the length of the test. It starts no program,
// since tests make hundreds of them.
func NewNetns(t testing.TB, name string) Netns {
	t.Helper()
	n := Netns{Name: name, Path: "/run/netns/" + name}
	if err := n.create(); err != nil {
		t.Fatalf("make namespace %s: %v", name, err)
	}
	t.Cleanup(n.Delete)
	n.setUp(t)
	return n
}

// create mounts a new namespace at the path, as ip-netns(8) does.
func (n Netns) create() error {
	if err := os.MkdirAll(filepath.Dir(n.Path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(n.Path, nil, 0o444); err != nil {
		return err
	}
	done := make(chan error)
	go func() { done <- n.unshare() }()
	return <-done
}

// unshare moves its thread to a new namespace, mounts the namespace, and moves back. A thread
// that cannot move back ends with the goroutine.
func (n Netns) unshare() error {
	runtime.LockOSThread()
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer home.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	mounted := unix.Mount("/proc/thread-self/ns/net", n.Path, "", unix.MS_BIND, "")
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err == nil {
		runtime.UnlockOSThread()
	}
	return mounted
}

// Delete removes the namespace's name. The namespace ends with its last user.
func (n Netns) Delete() {
	unix.Unmount(n.Path, unix.MNT_DETACH)
	os.Remove(n.Path)
}

// Churn makes a namespace and deletes it.
func Churn(name string) error {
	n := Netns{Name: name, Path: "/run/netns/" + name}
	defer n.Delete()
	return n.create()
}

// setUp turns off duplicate address detection for future links: tests would wait for it.
func (n Netns) setUp(t testing.TB) {
	t.Helper()
	err := n.Do(func() error {
		return os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Do runs f in the namespace.
func (n Netns) Do(f func() error) error {
	if n.Path == "" {
		return f()
	}
	ns, err := kernel.OpenNetns(n.Path)
	if err != nil {
		return err
	}
	defer ns.Close()
	return ns.Do(f)
}

// Bear gives the loopback interface an address, which can be bound and connected to. Without nodad, one of IPv6 is tentative for a moment there, too.
// The kernel adds its local route later (addrconf_dad_work); until then the prefix's route, which is via lo, refuses (ENETUNREACH).
func (n Netns) Bear(t testing.TB, a netip.Addr) {
	t.Helper()
	nodad := ""
	if a.Is6() {
		nodad = "nodad"
	}
	n.Sh(t, "ip address add %s dev lo %s", heddle.Single(a), nodad)
	if a.Is6() {
		Soon(t, "the local route of "+a.String(), func() error {
			_, err := n.TrySh("ip -6 route show table local %s | grep .", a)
			return err
		})
	}
}

// Sh runs a shell script in the namespace and returns what it printed.
func (n Netns) Sh(t testing.TB, script string, args ...any) string {
	t.Helper()
	out, err := n.TrySh(script, args...)
	if err != nil {
		t.Fatalf("in %s: %s\n%v\n%s", n.Name, fmt.Sprintf(script, args...), err, out)
	}
	return out
}

// TrySh is Sh for a script that may fail.
func (n Netns) TrySh(script string, args ...any) (out string, err error) {
	failed := n.Do(func() error {
		out, err = cell.TrySh(script, args...)
		return nil
	})
	if failed != nil {
		return "", failed
	}
	return out, err
}

// Ping sends one echo request, with further flags of ping(8). If the kernel cannot send it, Ping
// tries again: all namespaces share one neighbour table, and other tests may have filled it.
func (n Netns) Ping(to netip.Addr, flags ...string) error {
	_, err := n.ping(to, flags...)
	return err
}

func (n Netns) ping(to netip.Addr, flags ...string) (said string, err error) {
	args := append([]string{"-n", "-c1", fmt.Sprintf("-W%.1f", Patience.Seconds())}, flags...)
	err = n.Do(func() error {
		_, err := poll.Until(Patience, 50*time.Millisecond, func() error {
			out, err := exec.Command("ping", append(args, to.String())...).CombinedOutput()
			if said = strings.TrimSpace(string(out)); err == nil {
				return nil
			}
			err = fmt.Errorf("ping %s from %s: %w: %s", to, n.Name, err, said)
			if strings.Contains(said, "No buffer space available") {
				return err
			}
			return poll.Final(err)
		})
		return err
	})
	return said, err
}

var roundTrip = lazyregexp.New(`time=([0-9.]+) ms`)

// RTT pings, and returns the round-trip time. The kernel takes the time stamps, so that it does
// not matter if ping(8) has to wait for a processor.
func (n Netns) RTT(to netip.Addr) (time.Duration, error) {
	said, err := n.ping(to)
	if err != nil {
		return 0, err
	}
	m := roundTrip.FindStringSubmatch(said)
	if m == nil {
		return 0, fmt.Errorf("ping %s from %s names no time: %s", to, n.Name, said)
	}
	return time.ParseDuration(m[1] + "ms")
}

// Silent pings addresses that must not answer, all at the same time.
func (n Netns) Silent(t testing.TB, to ...netip.Addr) {
	t.Helper()
	var wait sync.WaitGroup
	for _, a := range to {
		wait.Go(func() {
			if n.Ping(a, fmt.Sprintf("-W%.1f", Refusal.Seconds())) == nil {
				t.Errorf("%s reaches %s", n.Name, a)
			}
		})
	}
	wait.Wait()
}

// Reaches pings addresses that must answer, and asks again if an answer is missing: the processors
// drop packets of all namespaces when a flood of another test fills their backlog. That none is lost
// otherwise is for TestFirstPacket to see.
func (n Netns) Reaches(t testing.TB, to ...netip.Addr) {
	t.Helper()
	for _, a := range to {
		Soon(t, n.Name+" reaches "+a.String(), func() error { return n.Ping(a, "-W2") })
	}
}
