package fast_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestMoved: no agent runs, and the other host's MAC address changes. The programs
// follow by themselves: within a second of what the kernel learns, if the host tells
// its new address (as after a failover), and if it does not, by having the kernel look
// after the neighbour.
func TestMoved(t *testing.T) {
	soak.Turn(t, 2)
	for _, f := range heddle.Families() {
		t.Run("over "+f.String(), func(t *testing.T) {
			s := newSceneOver(t, f)
			s.moves(t, "tells", "0a:77:77:77:77:01", 1, 10*time.Second)
			s.first.Sh(t, `for v in 4 6; do cd /proc/sys/net/ipv$v/neigh/eth0
				echo 1000 >base_reachable_time_ms; echo 1 >delay_first_probe_time; echo 200 >retrans_time_ms; done`)
			s.moves(t, "says nothing", "0a:77:77:77:77:02", 0, time.Minute)
		})
	}
}

// moves gives the second host another MAC address, and waits until packets of the
// first one arrive by the fast path again. By itself the kernel would look after a
// neighbour that it has heard of after 15 seconds at the soonest.
func (s *scene) moves(t *testing.T, how, mac string, tells int, limit time.Duration) {
	t.Helper()
	s.a.Reaches(t, s.far.Addrs()...)
	s.second.Sh(t, "sysctl -qw net.ipv4.conf.eth0.arp_notify=%d net.ipv6.conf.eth0.ndisc_notify=%[1]d; ip link set eth0 address %s", tells, mac)
	begin, before := time.Now(), s.second.Carried(t).Packets["received"]
	world.Within(t, limit, "packets follow a host that "+how, func() error {
		err := s.a.Ping(s.far.Addrs()[0], "-W1")
		if err == nil && s.second.Carried(t).Packets["received"] == before {
			err = errors.New("by the stack alone")
		}
		return err
	})
	t.Logf("the host %s its new MAC address: packets follow after %v", how, time.Since(begin).Round(10*time.Millisecond))
}

// TestSlow: packets that come less often than the programs ask for the way are
// carried all the same.
func TestSlow(t *testing.T) {
	for _, f := range heddle.Families() {
		t.Run("over "+f.String(), func(t *testing.T) {
			s := newSceneOver(t, f)
			to := s.far.Addrs()[0]
			world.Soon(t, "the way is known", func() error {
				before := s.first.Carried(t).Packets["sent"]
				if err := s.a.Ping(to); err != nil {
					return err
				}
				if s.first.Carried(t).Packets["sent"] == before {
					return errors.New("by the stack")
				}
				return nil
			})
			var err error
			for range 3 { // on a busy machine a packet may come just when the kernel asks for the neighbour
				if err = s.slow(t, to); err == nil {
					return
				}
			}
			t.Error(err)
		})
	}
}

// slow sends slow packets, all of which must be carried.
func (s *scene) slow(t *testing.T, to netip.Addr) error {
	t.Helper()
	before := s.first.Carried(t)
	const pings = 4
	if err := s.a.Ping(to, "-c", fmt.Sprint(pings), "-i1.3", "-w20"); err != nil {
		t.Fatal(err)
	}
	after := s.first.Carried(t)
	missed := after.Missed["neighbour"] - before.Missed["neighbour"]
	if n := after.Packets["sent"] - before.Packets["sent"]; n < pings || missed != 0 {
		return fmt.Errorf("%d of %d slow packets were carried, %d left for the neighbour", n, pings, missed)
	}
	return nil
}
