package kernel

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// TestSecured: the facts have the IPsec policies that may match tunnels, and a change of them is
// reported.
func TestSecured(t *testing.T) {
	r := newRoom(t)
	f, err := r.k.Facts()
	cell.Must(t, err)
	if len(f.Secured) != 0 {
		t.Fatalf("%v in an empty namespace", f.Secured)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	changed, err := r.k.Watch(ctx)
	cell.Must(t, err)
	const four, six = "tmpl src 192.0.2.1 dst 192.0.2.2 proto esp mode transport", "tmpl src fd00::1 dst fd00::2 proto esp mode tunnel"
	for _, c := range []struct {
		policy        string
		local, remote string
	}{
		{"dir out src 192.0.2.1/32 dst 192.0.2.2/32 " + four, "192.0.2.1/32", "192.0.2.2/32"},
		{"dir in src 192.0.2.3/32 dst 192.0.2.1/32 " + four, "192.0.2.1/32", "192.0.2.3/32"},
		{"dir out src 0.0.0.0/0 dst 198.51.100.0/24 proto udp dport 4789 " + four, "0.0.0.0/0", "198.51.100.0/24"},
		{"dir out src fd00::1/128 dst fd00::/8 " + six, "fd00::1/128", "fd00::/8"},
		{"dir in src ::/0 dst 2001:db8::/64 " + six, "2001:db8::/64", "::/0"},
		{"dir out src 192.0.2.0/24 dst 203.0.113.0/24 action block", "192.0.2.0/24", "203.0.113.0/24"},
		{"dir in src ::/0 dst 2001:db8:1::/64 action block", "2001:db8:1::/64", "::/0"},
		{"dir fwd src 10.0.0.0/8 dst 10.0.0.0/8 " + four, "", ""},
		{"dir out src 192.0.2.1/32 dst 192.0.2.9/32 proto tcp " + four, "", ""},
		{"dir out src 192.0.2.1/32 dst 192.0.2.10/32", "", ""}, // lets pass what another one is about
		{"dir out src 0.0.0.0/0 dst 0.0.0.0/0 if_id 7 " + four, "", ""},
	} {
		r.sh("ip xfrm policy flush")
		r.sh("ip xfrm policy add " + c.policy)
		var want []heddle.Secured
		if c.local != "" {
			want = []heddle.Secured{{Local: netip.MustParsePrefix(c.local), Remote: netip.MustParsePrefix(c.remote)}}
		}
		f, err := r.k.Facts()
		cell.Must(t, err)
		if !slices.Equal(f.Secured, want) {
			t.Errorf("%s: %v, want %v", c.policy, f.Secured, want)
		}
		select {
		case <-changed:
		case <-time.After(10 * time.Second):
			t.Errorf("%s: not told of", c.policy)
		}
	}
	r.sh("ip xfrm policy flush; ip xfrm policy setdefault out block")
	f, err = r.k.Facts()
	cell.Must(t, err)
	if len(f.Secured) != 2 || f.Secured[0].Remote.Bits() != 0 || f.Secured[1].Remote.Bits() != 0 {
		t.Errorf("by default nothing goes out: %v", f.Secured)
	}
}
