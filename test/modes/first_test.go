package modes_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
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
			a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
			for tries := 1; ; tries++ {
				before := world.Spilled(t)
				err := newcomers(t, w, n, a, b)
				if err == nil {
					break
				}
				if spilled := world.Spilled(t) - before; spilled == 0 || tries == 5 {
					t.Error(err)
					break
				}
				t.Logf("once more, for a flood of another test lost packets of all: %v", err)
			}
		}
	})
}

// newcomers attaches two containers, has them send their first packets, and detaches them.
func newcomers(t *testing.T, w *world.World, n heddle.Network, first, second string) error {
	t.Helper()
	a := w.Pod(t, first, "net")
	errs := []error{firsts(a, n.Gateways...)}
	b := w.Pod(t, second, "net")
	errs = append(errs, firsts(a, b.Addrs()...))
	for _, link := range []string{a.Sh(t, "ip -o link show dev eth0"), b.Sh(t, "ip -o link show dev eth0"), w.Host.Sh(t, "ip -o link show dev %s", b.Port())} {
		if strings.Contains(link, "qdisc noop ") {
			t.Errorf("%s and %s: not active: %s", first, second, link)
		}
	}
	a.Leave(t)
	b.Leave(t)
	return errors.Join(errs...)
}

// firsts pings addresses for the first time. A packet whose question for its
// neighbour was lost goes a second later, when the kernel asks again.
func firsts(from *world.Pod, to ...netip.Addr) error {
	var errs []error
	for _, a := range to {
		took, err := from.RTT(a)
		if err == nil && took >= 900*time.Millisecond {
			err = fmt.Errorf("the first packet from %s to %s took %v", from.Name, a, took)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
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
