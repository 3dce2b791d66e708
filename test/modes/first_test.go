package modes_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/world"
)

// TestFirstPacket: when attach returns, both ends and the bridge carry packets;
// the container's first one is not lost, nor the first to it.
func TestFirstPacket(t *testing.T) {
	each(t, func(t *testing.T, mode string) {
		w := world.New(t)
		n := w.Network(t, "net", mode)
		defer busy()()
		for i := range 15 / min(int(world.Slowness), 3) {
			a := w.Pod(t, fmt.Sprint("a", i), "net")
			firsts(t, a, n.Gateways...)
			b := w.Pod(t, fmt.Sprint("b", i), "net")
			firsts(t, a, b.Addrs()...)
			for _, link := range []string{a.Sh(t, "ip -o link show dev eth0"), b.Sh(t, "ip -o link show dev eth0"), w.Host.Sh(t, "ip -o link show dev %s", b.Port())} {
				if strings.Contains(link, "qdisc noop ") {
					t.Errorf("attach %d: not active: %s", i, link)
				}
			}
			a.Leave(t)
			b.Leave(t)
		}
	})
}

// firsts pings addresses for the first time. A packet whose question for its
// neighbour was lost goes a second later, when the kernel asks again.
func firsts(t *testing.T, from *world.Pod, to ...netip.Addr) {
	t.Helper()
	for _, a := range to {
		if took, err := from.RTT(a); err != nil {
			t.Error(err)
		} else if took >= 900*time.Millisecond {
			t.Errorf("the first packet from %s to %s took %v", from.Name, a, took)
		}
	}
}

// busy keeps the kernel's lock of the interfaces busy, as other containers that
// come and go do, until the returned function is called.
func busy() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				world.Churn(fmt.Sprint("churn", i%4))
			}
		}
	}()
	return func() { close(done); <-ended }
}
