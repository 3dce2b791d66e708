package modes_test

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestRestart: an agent that ends and starts anew loses no packet, breaks no
// connection, and knows its endpoints.
func TestRestart(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode, world.With("masquerade=true"))
		a, b := w.Pod(t, "a", "net", world.Publish("8080:80/tcp")), w.Pod(t, "b", "net")
		a.Serve(t, 80, a.Addrs()...)
		w.Outside.Serve(t, 7000, outsideAddrs...)
		talk := conversation(t, w.Outside, netip.AddrPortFrom(world.Host4, 8080))
		out := conversation(t, b.Netns, netip.AddrPortFrom(world.Outside6, 7000))
		whole := w.Host.Dump(t) + a.Dump(t)
		flows := a.Stream(t, 10*time.Millisecond, all(b.Addrs(), outsideAddrs)...)
		before := w.Endpoints()
		for range 3 {
			time.Sleep(200 * time.Millisecond)
			w.Restart(t, func() { time.Sleep(50 * time.Millisecond) })
			talk("again")
			out("again")
		}
		flows()
		if after := w.Endpoints(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("endpoints before %v, after %v", before, after)
		}
		same(t, "after restarts", whole, w.Host.Dump(t)+a.Dump(t))
		w.AuditEmpty(t)
		if c := w.Pod(t, "c", "net"); c.V4() == a.V4() || c.V4() == b.V4() {
			t.Errorf("an address is given twice: %s", c.V4())
		}
	})
}

// conversation keeps a TCP connection, and says something over it.
func conversation(t *testing.T, from world.Netns, to netip.AddrPort) func(word string) {
	t.Helper()
	c, err := from.Dial("tcp", netip.AddrPort{}, to, world.Patience)
	cell.Must(t, err)
	t.Cleanup(func() { c.Close() })
	r := bufio.NewReader(c)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return func(word string) {
		t.Helper()
		c.SetDeadline(time.Now().Add(world.Patience))
		fmt.Fprintln(c, word)
		if got, err := r.ReadString('\n'); err != nil || got != word+"\n" {
			t.Errorf("over a kept connection: %q, %v", got, err)
		}
	}
}

// TestServesWhileComparing: an agent that starts serves before it has compared the host with its plans; it
// puts right what it finds in the end, and an audit waits for that.
func TestServesWhileComparing(t *testing.T) {
	w := world.New(t, world.Watching)
	w.Network(t, "net", "bridge")
	a := w.Pod(t, "a", "net")
	cell.Must(t, w.Close())
	const stray = heddle.PrefixPort + "0123456789"
	cell.Sh(t, "ip link add %s group %d type bridge", stray, heddle.GroupBase)
	var once sync.Once
	found, held := make(chan struct{}), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(held) })
	t.Cleanup(goOn) // the world is closed after it, and waits for the comparison
	w.TripAt(func(step string) error {
		if strings.Contains(step, stray) {
			once.Do(func() { close(found) })
			<-held
		}
		return nil
	})
	w.Begin(t)
	select {
	case <-found:
	case <-time.After(world.Patience):
		t.Fatal("a link that nobody wants is not found")
	}
	b := w.Pod(t, "b", "net")
	a.Reaches(t, b.Addrs()...)
	audited := make(chan struct{})
	go func() {
		w.AuditEmpty(t)
		close(audited)
	}()
	select {
	case <-audited:
		t.Error("an audit does not wait for the first comparison")
	case <-time.After(world.Refusal):
	}
	goOn()
	<-audited
}

// reboot lets the system say that it has been started anew.
func reboot(t *testing.T) {
	t.Helper()
	const bootID = "/proc/sys/kernel/random/boot_id"
	file := filepath.Join(t.TempDir(), "boot_id")
	cell.Must(t, os.WriteFile(file, []byte("11111111-2222-3333-4444-555555555555\n"), 0o444))
	cell.Must(t, unix.Mount(file, bootID, "", unix.MS_BIND, ""))
	t.Cleanup(func() { unix.Unmount(bootID, unix.MNT_DETACH) })
}

// TestReboot: after a reboot networks are back, endpoints are forgotten, and
// addresses go on where they were.
func TestReboot(t *testing.T) {
	one(t, func(t *testing.T, mode string) {
		w := world.New(t)
		n := w.Network(t, "net", mode)
		a := w.Pod(t, "a", "net", world.Publish("8080:80/tcp"))
		last := w.Pod(t, "b", "net").V4()
		w.Restart(t, func() {
			reboot(t)
			a.Delete()
			wipe(t)
		})
		if got := w.Endpoints(); len(got) > 0 {
			t.Errorf("endpoints after a reboot: %v", got)
		}
		if got, err := w.Agent.Network("net"); err != nil || got.ID != n.ID {
			t.Errorf("network after a reboot: %+v, %v", got, err)
		}
		w.AuditEmpty(t)
		c, d := w.Pod(t, "c", "net", world.Publish("8080:80/tcp")), w.Pod(t, "d", "net")
		if c.V4() != last.Next() {
			t.Errorf("the first address after a reboot is %s, the last before was %s", c.V4(), last)
		}
		c.Reaches(t, all(d.Addrs(), n.Gateways)...)
	})
}

// wipe removes from the kernel whatever is ours, as a reboot does. Links go first, since ip cannot flush
// routes that go meanwhile, as those through the link of a namespace that ends.
func wipe(t *testing.T) {
	t.Helper()
	for line := range strings.Lines(cell.Sh(t, "ip -o link")) {
		name, _, _ := strings.Cut(strings.Fields(line)[1], "@")
		name = strings.TrimSuffix(name, ":")
		if strings.HasPrefix(name, heddle.PrefixBridge) || strings.HasPrefix(name, heddle.PrefixPort) {
			cell.TrySh("ip link del %s", name)
		}
	}
	cell.Sh(t, "nft flush ruleset; ip route flush proto %d; ip -6 route flush proto %[1]d", heddle.RouteProtocol)
	for _, where := range world.Traces(t) {
		t.Logf("not wiped: %s", where)
	}
}
