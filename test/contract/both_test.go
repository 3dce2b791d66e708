package contract_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
	"github.com/heddle-network/heddle/kernel/fake"
	"github.com/heddle-network/heddle/test/cell"
)

// TestFake keeps the kernel in memory to the contract. It needs no root.
func TestFake(t *testing.T) { keep(t, openFake) }

// TestKernel keeps the kernel to it, and has both see the same.
func TestKernel(t *testing.T) {
	cell.Need(t)
	real := keep(t, openReal)
	inMemory := keep(t, openFake)
	for name, want := range real {
		if d := cmp.Diff(want, inMemory[name]); d != "" {
			t.Errorf("%s: the kernel (-) and the one in memory (+) differ:\n%s", name, d)
		}
	}
}

func openFake(t *testing.T) *room {
	h := fake.NewHost(heddle.HostFacts{Name: "h", Links: []heddle.LinkFact{uplink, farEnd}})
	k := h.Open()
	r := &room{t: t, PlanApplier: k, end: func(i int) { h.End(fmt.Sprint(i)) },
		tripwire: func(f func(string) error) { k.Tripwire = f }, wanted: func(f func(string) int) { k.Wanted = f }}
	for i := range r.pods {
		h.Begin(fmt.Sprint(i))
		pod, err := k.OpenPod(fmt.Sprint(i))
		cell.Must(t, err)
		r.pods[i] = pod
	}
	return r
}

var rooms atomic.Int32

func openReal(t *testing.T) *room {
	n := rooms.Add(1)
	name := func(role string) string { return fmt.Sprintf("%s%d", role, n) }
	home, err := kernel.OpenNetns(cell.Netns(t, name("host")))
	cell.Must(t, err)
	t.Cleanup(home.Close)
	cell.Sh(t, `ip -n %[1]s link set lo up; ip -n %[1]s link add up0 address 02:00:00:00:00:01 type veth peer name up1
		ip -n %[1]s link set up1 up; ip -n %[1]s link set up0 up; ip -n %[1]s address add 198.51.100.2/24 dev up0; ip -n %[1]s address add 2001:db8:1::2/64 dev up0 nodad`, name("host"))
	var k *kernel.Kernel
	cell.Must(t, home.Do(func() (err error) {
		k, err = kernel.Open()
		return err
	}))
	t.Cleanup(func() { k.Close() })
	r := &room{t: t, PlanApplier: k, tripwire: func(f func(string) error) { k.Tripwire = f }, wanted: func(f func(string) int) { k.Wanted = f }}
	for i := range r.pods {
		pod, err := k.OpenPod(cell.Netns(t, name(fmt.Sprintf("pod%d-", i))))
		cell.Must(t, err)
		r.pods[i] = pod
	}
	r.end = func(i int) {
		r.pods[i].Close()
		cell.Sh(t, "ip netns del %s", name(fmt.Sprintf("pod%d-", i)))
		r.waitGone(t, name("host"))
	}
	return r
}

// waitGone waits until the kernel has taken the far ends of links whose namespace has
// ended, which it does a moment later. What else the endpoint has on the host stays.
func (r *room) waitGone(t testing.TB, host string) {
	cell.Sh(t, "for i in $(seq 100); do ip -n %[1]s -br link | grep -q '^hd[0-9a-f]' || exit 0; sleep 0.05; done; ip -n %[1]s link; exit 1", host)
}
