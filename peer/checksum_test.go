package peer_test

import (
	"bytes"
	"context"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle/peer"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// tunnel makes two hosts with a tunnel, joined by a wire that passes the frames as wire returns
// them, with unfinished checksums unchanged.
func tunnel(t *testing.T, wire func(frame []byte) []byte) {
	t.Helper()
	cell.Need(t)
	for _, name := range []string{"one", "wire", "two"} {
		cell.Netns(t, name)
	}
	cell.Sh(t, `
side() { # host number other
	ip -n $1 link add wire type veth peer name to$2 netns wire
	ip netns exec wire sysctl -qw net.ipv6.conf.to$2.disable_ipv6=1
	ip -n $1 link set wire address 02:00:00:00:09:0$2; ip -n $1 addr add 10.9.0.$2/24 dev wire
	ip -n $1 link set wire up; ip -n wire link set to$2 up
	ip -n $1 neigh add 10.9.0.$3 lladdr 02:00:00:00:09:0$3 dev wire
	ip -n $1 link add tunnel address 02:00:00:00:0a:0$2 mtu 1450 type vxlan id 9 dstport 4789 local 10.9.0.$2 remote 10.9.0.$3 nolearning noudpcsum
	ip -n $1 link set tunnel addrgenmode none
	ip -n $1 addr add fe80::$2/64 dev tunnel nodad; ip -n $1 link set tunnel up
	ip -n $1 neigh add fe80::$3 lladdr 02:00:00:00:0a:0$3 dev tunnel
}
side one 1 2
side two 2 1`)
	world.Netns{Name: "wire", Path: "/run/netns/wire"}.Splice(t, [2]string{"to1", "to2"}, wire)
}

func test(t *testing.T) peer.Verdict {
	t.Helper()
	var v peer.Verdict
	from(t, "one", func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var err error
		if v, err = peer.TestChecksums(ctx, "tunnel", netip.MustParseAddr("fe80::1"), netip.MustParseAddr("fe80::2")); err != nil {
			t.Error(err)
		}
	})
	return v
}

func TestChecksums(t *testing.T) {
	tunnel(t, func(frame []byte) []byte { return frame })
	if got := test(t); got != peer.Spoiled {
		t.Errorf("a wire that leaves checksums unfinished: %s", got)
	}
	// the fallback
	cell.Sh(t, "ip netns exec one ethtool -K tunnel tx off")
	time.Sleep(2 * time.Second) // the peer limits its answers about closed ports
	if got := test(t); got != peer.Good {
		t.Errorf("checksums finished before the wire: %s", got)
	}
	cell.Sh(t, "ip netns exec one ethtool -K tunnel tx on")
	cell.Sh(t, `ip netns exec two nft 'add table inet deaf; add chain inet deaf input { type filter hook input priority 0; }; add rule inet deaf input iifname "tunnel" meta l4proto udp drop'`)
	if got := test(t); got != peer.Unproven {
		t.Errorf("a peer whose firewall drops both: %s", got)
	}
}

// TestChecksumsOfAWayThatReturns: a path that was cut while the first datagrams were sent, and
// carries the control, does not count as spoiling checksums.
func TestChecksumsOfAWayThatReturns(t *testing.T) {
	var cut atomic.Int64
	tunnel(t, func(frame []byte) []byte {
		if bytes.Contains(frame, []byte("heddle: does this checksum arrive?")) && cut.Add(1) <= 3 {
			return nil
		}
		return frame
	})
	cell.Sh(t, "ip netns exec one ethtool -K tunnel tx off")
	if got := test(t); got != peer.Good {
		t.Errorf("%s, after %d datagrams", got, cut.Load())
	}
}
