package kernel

import (
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"golang.org/x/sys/unix"
)

// While a route is replaced, no packet meets the unreachable route below it. IPv6 refuses one very rarely all the same: its sender
// had found the old route when that one's last reference went, and then the kernel takes its null entry (net/ipv6/route.c,
// ip6_rt_pcpu_alloc). If a route is away for a moment, that is seen in one of ten replacements.
func TestRouteSwap(t *testing.T) {
	r := newRoom(t)
	r.sh(uplinkScript)
	r.containerOnTunnels()
	state := tunnelPlan(2, 1)
	for _, dst := range []string{"10.30.0.0/16", "fd30::/48"} {
		state.Routes = append(state.Routes, heddle.Route{Dst: netip.MustParsePrefix(dst), Type: "unreachable", Metric: 1<<32 - 1})
	}
	// somebody answers at each next hop, or packets would be lost there
	for _, l := range state.Links {
		state.Neighbours = append(state.Neighbours, heddle.Neighbour{Link: l.Name, Addr: netip.MustParseAddr("fe80::77"), MAC: "0e:00:00:00:01:00"})
	}
	r.apply(heddle.Plan{Host: state})
	done := make(chan struct{})
	var senders sync.WaitGroup
	for _, text := range []string{"10.30.1.5", "10.30.2.5", "fd30:0:0:1::5", "fd30:0:0:2::5"} {
		to := netip.MustParseAddr(text)
		fd := r.unboundedSender(to)
		level, option := unix.IPPROTO_IP, unix.IP_RECVERR // otherwise a connected socket is not notified
		if to.Is6() {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_RECVERR
		}
		cell.Must(t, unix.SetsockoptInt(fd, level, option, 1))
		senders.Go(func() {
			defer unix.Close(fd)
			refused := 0
			for sent := 0; ; sent++ {
				select {
				case <-done:
					t.Logf("%s: %d packets, %d refused", to, sent, refused)
					return
				default:
				}
				if _, err := unix.Write(fd, []byte("heddle")); errors.Is(err, unix.EHOSTUNREACH) || errors.Is(err, unix.ENETUNREACH) {
					if refused++; to.Is4() || refused > 2 {
						t.Errorf("%s: packet %d: %v", to, sent, err)
						return
					}
				}
			}
		})
	}
	swaps, begin := 0, time.Now()
	for ; swaps < 30 || time.Since(begin) < 2*time.Second; swaps++ {
		for i := range state.Routes[:4] {
			state.Routes[i].MTU = 1300 + 50*(swaps%2)
			if swaps%4 == 3 {
				state.Routes[i].Via = netip.MustParseAddr("fe80::77")
			} else {
				state.Routes[i].Via = tunnelPlan(2, 1).Routes[i].Via
			}
		}
		if made := r.apply(heddle.Plan{Host: state}); len(made) != 4 {
			t.Fatalf("made %v", made)
		}
	}
	close(done)
	senders.Wait()
	t.Logf("%d replacements of 4 routes", swaps)
	r.clean(heddle.Plan{Host: state})
}
