package modes_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestAddresses: what is asked for is given, or refused with the right code and
// nothing changed.
func TestAddresses(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode)
		w.Network(t, "v4", mode, world.OnlyV4)
		a := w.Pod(t, "a", "net", world.IP("10.20.7.7"), world.IP("fd20::77"), world.MAC("0a:11:22:33:44:55"))
		b := w.Pod(t, "b", "net")
		if a.V4().String() != "10.20.7.7" || a.V6().String() != "fd20::77" {
			t.Errorf("addresses %v", a.Addrs())
		}
		inside := a.Sh(t, "ip -o link show dev eth0; ip -o address show dev eth0")
		for _, want := range []string{"0a:11:22:33:44:55", "10.20.7.7/", "fd20::77/", "fe80::811:22ff:fe33:4455/64"} {
			if !strings.Contains(inside, want) {
				t.Errorf("%s is missing:\n%s", want, inside)
			}
		}
		b.Reaches(t, a.Addrs()...)
		spare := world.NewNetns(t, "spare")
		before := w.Host.Dump(t) + spare.Dump(t)
		for _, c := range []struct {
			network string
			ask     world.PodOption
			code    heddle.Code
		}{
			{"net", world.IP("10.20.7.7"), heddle.AddressTaken},
			{"net", world.IP("fd20::77"), heddle.AddressTaken},
			{"net", world.IP("10.20.0.1"), heddle.AddressTaken},
			{"net", world.IP("fd20::1"), heddle.AddressTaken},
			{"net", world.IP("10.99.0.1"), heddle.OutsidePool},
			{"v4", world.IP("fd20::99"), heddle.BadAddress},
			{"net", world.MAC("0a:11:22:33:44:55"), heddle.MACTaken},
			{"net", world.MAC("01:11:22:33:44:55"), heddle.BadMAC},
			{"none", world.As("eth0"), heddle.NoNetwork},
			{"net", world.As("name/with/slash"), heddle.BadIfName},
			{"net", world.As("sixteen-byte-nam"), heddle.BadIfName},
		} {
			r := w.Request(spare, c.network, c.ask)
			_, err := w.Attach(ctx, r)
			if wantCode(t, err, c.code); t.Failed() {
				t.Logf("of %+v", r)
			}
		}
		same(t, "after refusals", before, w.Host.Dump(t)+spare.Dump(t))
	})
}

// TestExhausted: a full pool refuses, and serves again when one leaves.
func TestExhausted(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "tiny", mode, func(n *heddle.Network) { n.Subnets[0] = netip.MustParsePrefix("10.20.0.0/29") })
		pods := []*world.Pod{}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			pods = append(pods, w.Pod(t, name, "tiny"))
		}
		spare := world.NewNetns(t, "spare")
		_, err := w.Attach(ctx, w.Request(spare, "tiny"))
		wantCode(t, err, heddle.PoolExhausted)
		freed := pods[2].V4()
		pods[2].Leave(t)
		again := w.PodIn(t, spare, "tiny")
		if again.V4() != freed {
			t.Errorf("got %s, only %s was free", again.V4(), freed)
		}
		pods[0].Reaches(t, again.Addrs()...)
	})
}

// TestIfNameTaken: an interface of the container's own is not touched.
func TestIfNameTaken(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode)
		ns := world.NewNetns(t, "c")
		ns.Sh(t, "ip link add eth0 type veth peer name other; ip link set eth0 up; ip address add 10.1.1.1/24 dev eth0")
		before := w.Host.Dump(t) + ns.Dump(t)
		_, err := w.Attach(ctx, w.Request(ns, "net"))
		wantCode(t, err, heddle.IfNameTaken)
		same(t, "after the refusal", before, w.Host.Dump(t)+ns.Dump(t))
		w.PodIn(t, ns, "net", world.As("eth1"))
	})
}

// TestBadNamespace: what is no network namespace, or is the host's own, is
// refused.
func TestBadNamespace(t *testing.T) {
	w := world.New(t)
	w.Network(t, "net", "bridge")
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	cell.Must(t, os.WriteFile(file, nil, 0o600))
	before := w.Host.Dump(t)
	for _, path := range []string{"", "/nowhere", file, dir, "/proc/self/ns/mnt", "/proc/self/ns/net", "/dev/null"} {
		_, err := w.Attach(ctx, w.Request(world.Netns{Name: "c", Path: path}, "net"))
		if wantCode(t, err, heddle.BadNamespace); t.Failed() {
			t.Logf("of %q", path)
		}
	}
	same(t, "after refusals", before, w.Host.Dump(t))
}

// TestGone: a container that goes without a word is noticed, and gc collects it without a wait; what
// it had is free again.
func TestGone(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t, world.Watching)
		w.Network(t, "net", mode)
		a := w.Pod(t, "a", "net", world.IP("10.20.0.50"), world.Publish("8080:80/tcp"))
		b := w.Pod(t, "b", "net")
		a.Delete()
		// the kernel takes the namespaces of the whole machine down one after another
		world.Within(t, 20*world.Patience, "the pair goes with its namespace", func() error {
			out, _ := w.Host.TrySh("ip link show dev %s 2>&1 || true", a.Port())
			return contains(out, "does not exist")
		})
		found, err := w.Audit()
		cell.Must(t, err)
		if len(found) != 1 || found[0].Kind != "gone" || found[0].Owner != "a/eth0" {
			t.Errorf("audit of a container that is gone: %+v", found)
		}
		removed, err := w.GC(ctx, "", nil)
		if cell.Must(t, err); len(removed) == 0 || !strings.Contains(removed[0], "a/eth0") {
			t.Errorf("collected: %v", removed)
		}
		w.AuditEmpty(t)
		c := w.Pod(t, "c", "net", world.IP("10.20.0.50"), world.Publish("8080:80/tcp"))
		b.Reaches(t, c.Addrs()...)
	})
}

// TestComesBack: a container that comes back in a new namespace, without a
// detach, gets its endpoint anew.
func TestComesBack(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		w.Network(t, "net", mode)
		a, b := w.Pod(t, "a", "net", world.IP("10.20.0.50")), w.Pod(t, "b", "net")
		again, err := w.Attach(ctx, w.Request(a.Netns, "net", world.IP("10.20.0.50")))
		if cell.Must(t, err); !again.Existed {
			t.Error("a second attach is not told from the first")
		}
		_, err = w.Attach(ctx, w.Request(a.Netns, "net", world.IP("10.20.0.51")))
		wantCode(t, err, heddle.EndpointDiffers)
		a.Delete()
		ns := world.NewNetns(t, "a")
		back := w.PodIn(t, ns, "net", world.IP("10.20.0.50"))
		if back.Endpoint.MAC != a.Endpoint.MAC || back.V4() != a.V4() {
			t.Errorf("it comes back as %s %s, was %s %s", back.Endpoint.MAC, back.V4(), a.Endpoint.MAC, a.V4())
		}
		b.Reaches(t, back.Addrs()...)
		w.AuditEmpty(t)
	})
}

// contains is an error unless the text contains the words.
func contains(text, words string) error {
	if strings.Contains(text, words) {
		return nil
	}
	return os.ErrNotExist
}
