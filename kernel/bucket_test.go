package kernel

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/test/cell"
)

// limitedPort is a port with both limits, as parts of a plan.
func limitedPort(rate heddle.Rate, burst uint64) heddle.Plan {
	alias, group := heddle.Mark+" endpoint=c/eth0", heddle.GroupBase+1
	return heddle.Plan{Host: heddle.State{
		Links: []heddle.Link{{Name: "hd0", Kind: "veth", Peer: "hd1", Group: group, Alias: alias}, {Name: "hd1", Kind: "veth", Group: group, Alias: alias},
			{Name: "hdq0", Kind: "ifb", Group: group, Alias: alias, NoAutoAddress: true}},
		Buckets: []heddle.Bucket{{Link: "hd0", Rate: rate, Burst: burst, Queue: 300e3}, {Link: "hdq0", Rate: rate, Burst: burst, Queue: 200e3}},
		Diverts: []heddle.Divert{{Link: "hd0", To: "hdq0"}},
	}}
}

// TestBucketCommands: the commands of limits make, change and remove what Apply wants, at rates of 32 bits and of more.
func TestBucketCommands(t *testing.T) {
	r := newRoom(t)
	was := limitedPort(64e3, 5e3)
	r.sh(strings.Join(commands.Of(was, ""), "\n"))
	for _, next := range []heddle.Plan{limitedPort(10e6, 20e3), limitedPort(40e9, 1e6), limitedPort(heddle.MostRate, 1<<30), limitedPort(1e9, 64<<10)} {
		r.clean(was)
		if made := r.apply(was); len(made) > 0 {
			t.Errorf("Apply after the commands made %v", made)
		}
		r.sh(strings.Join(commands.Change(was.Host, next.Host, nil), "\n"))
		was = next
	}
	r.clean(was)
	unlimited := heddle.Plan{Host: was.Host.Filter(func(o heddle.Object) bool {
		l, is := o.(heddle.Link)
		return is && l.Kind == "veth"
	})}
	r.sh(strings.Join(commands.Change(was.Host, unlimited.Host, func(string) bool { return false }), "\n"))
	r.unlimited()
	r.apply(was)
	wanted := map[string]bool{}
	for _, o := range unlimited.Host.Objects() {
		wanted[o.Key()] = true
	}
	removed, err := r.k.Prune(func(key string) bool { return wanted[key] })
	cell.Must(t, err)
	if len(removed) != 4 {
		t.Errorf("pruned %v", removed)
	}
	r.unlimited()
}

// unlimited fails the test if something of the limits is left.
func (r *room) unlimited() {
	r.t.Helper()
	if left := r.sh("(tc qdisc show | grep tbf; tc filter show dev hd0 ingress; ip -br link show type ifb | grep ^hdq) || true"); left != "" {
		r.t.Errorf("left: %s", left)
	}
}

// TestMisledDivert: a filter that leads elsewhere, or is another one, is corrected.
func TestMisledDivert(t *testing.T) {
	r := newRoom(t)
	p := limitedPort(10e6, 20e3)
	r.apply(p)
	for _, damage := range []string{
		"ip link add other type ifb; ip link set other up; tc filter del dev hd0 ingress; tc filter add dev hd0 parent ffff: protocol all prio 103 u32 match u32 0 0 at -12 action mirred egress redirect dev other",
		"tc filter del dev hd0 ingress; tc filter add dev hd0 parent ffff: protocol all prio 103 u32 match u32 0 0 at 0 action mirred egress redirect dev hdq0",
		"tc filter del dev hd0 ingress; tc filter add dev hd0 parent ffff: protocol all prio 103 u32 match u32 0 0 at -12 action mirred ingress redirect dev hdq0",
	} {
		r.sh(damage)
		diff, err := r.k.Diff(p, nil)
		cell.Must(t, err)
		if len(diff) != 1 || diff[0].Key != "divert/hd0" || diff[0].Kind != "differs" {
			t.Errorf("after %s: %v", damage, diff)
		}
		r.apply(p)
		r.clean(p)
	}
}
