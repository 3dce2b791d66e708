package kernel

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/firewall"
	"github.com/heddle-network/heddle/test/cell"
)

// samples are sample texts for each type.
var samples = map[string][]string{
	firewall.TypeIfName: {"hd0123456789", "abcdefghijklmno"}, firewall.TypeMAC: {"0a:00:27:00:00:01", "0e:ff:00:00:00:ff"},
	firewall.TypeIPv4: {"10.1.2.3", "255.0.0.1"}, firewall.TypeIPv6: {"fd20::1", "::1"},
	firewall.TypeInner4: {"10.20.0.5", "10.20.0.64/26"}, firewall.TypeInner6: {"fd20::9", "fd20::ff:0:0:0/112"},
	firewall.TypeQuoted4: {"10.20.0.5", "192.0.2.1"}, firewall.TypeQuoted6: {"fd20::9", "fe80::1"},
	firewall.TypeNDTarget: {"fe80::1", "2001:db8::ffff"}, firewall.TypeProto: {"tcp", "udp"}, firewall.TypePort: {"80", "65535"},
	firewall.TypeGroup: {"0x68000001", "0x68fffffe"}, firewall.TypeVerdict: {"jump sample", "goto sample"},
}

// sampleState is our firewall with two members of every set, and a chain to which the verdict maps lead: those of ours come back to these maps.
func sampleState() heddle.State {
	f := firewall.Base()
	for _, family := range []string{"inet", "bridge"} {
		f = append(f, heddle.Firewall{Family: family, Kind: "chain", Name: "sample"})
	}
	return heddle.State{Firewall: f, Elements: sampleElements(f)}
}

// sampleElements has two members for every set of ours.
func sampleElements(f []heddle.Firewall) []heddle.Element {
	var all []heddle.Element
	for _, o := range f {
		t, known := firewall.TypeOf(o.Family, o.Name)
		if !known || o.Kind == "chain" {
			continue
		}
		for i := range 2 {
			e := heddle.Element{Family: o.Family, Set: o.Name}
			for _, p := range t.Match {
				e.Match = append(e.Match, samples[p][i])
			}
			for _, p := range t.Value {
				e.Value = append(e.Value, samples[p][i])
			}
			all = append(all, e)
		}
	}
	return all
}

// Elements written over netlink and by nft are the same in every set.
func TestElementsAsNftWritesThem(t *testing.T) {
	typed, made := newRoom(t), newRoom(t)
	plan := heddle.Plan{Host: sampleState()}
	typed.sh(strings.Join(commands.Of(plan, ""), "\n"))
	made.apply(plan)
	typed.clean(plan)
	made.clean(plan)
	const list = "nft -s -y list ruleset"
	sameText(t, "elements", typed.sh(list), made.sh(list))
	for _, r := range []*room{typed, made} {
		owned, err := r.k.Ours()
		cell.Must(t, err)
		want, have := map[string]heddle.Element{}, map[string]heddle.Element{}
		for _, e := range plan.Host.Elements {
			want[e.Key()] = e
		}
		for _, e := range owned.State.Elements {
			have[e.Key()] = e
		}
		if d := cmp.Diff(want, have); d != "" {
			t.Error(d)
		}
	}
}

// What is encoded is decoded to the same text.
func TestEncodeDecode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{firewall.TypeIfName, firewall.TypeMAC, firewall.TypeIPv4, firewall.TypeIPv6,
			firewall.TypeNDTarget, firewall.TypeQuoted4, firewall.TypeQuoted6, firewall.TypeProto, firewall.TypePort, firewall.TypeGroup}), 1, 4).Draw(t, "types")
		var parts []string
		for _, k := range kinds {
			parts = append(parts, rapid.SampledFrom(samples[k]).Draw(t, k))
		}
		b, err := encode(kinds, parts)
		if err != nil || len(b) != keyLen(kinds) {
			t.Fatalf("%v %v: %x, %v", kinds, parts, b, err)
		}
		if d := cmp.Diff(parts, decode(kinds, b)); d != "" {
			t.Fatal(d)
		}
	})
}

// Malformed parts are refused before anything is sent.
func TestEncodeRefuses(t *testing.T) {
	for kind, bad := range map[string][]string{
		firewall.TypeIfName: {"abcdefghijklmnop"}, firewall.TypeMAC: {"", "0a:00", "x"}, firewall.TypeIPv4: {"::1", "10.0.0"},
		firewall.TypeIPv6: {"10.0.0.1", ""}, firewall.TypeProto: {"icmpx", "256"}, firewall.TypePort: {"65536", "-1", "http"}, firewall.TypeGroup: {"demo"},
	} {
		for _, s := range bad {
			if b, err := encode([]string{kind}, []string{s}); err == nil {
				t.Errorf("%s %q became %x", kind, s, b)
			}
		}
	}
	for _, s := range []string{"", "jump", "accept x", "jump-from"} {
		if _, _, err := parseVerdict(s); err == nil {
			t.Errorf("verdict %q was taken", s)
		}
	}
}

// A set of another type is in use and cannot be changed: the table is made anew, with everything
// else that the plan has in it.
func TestSetOfAnotherType(t *testing.T) {
	r := newRoom(t)
	plan := heddle.Plan{Host: sampleState()}
	r.sh("nft add table inet heddle; nft add set inet heddle macs '{ type ipv4_addr; }'; nft add rule inet heddle x ip saddr @macs 2>/dev/null || true")
	diff, err := r.k.Diff(plan, nil)
	cell.Must(t, err)
	if !hasKey(diff, "firewall/inet/set/macs") {
		t.Error(diff)
	}
	r.apply(plan)
	r.clean(plan)
}

func TestParseBaseSpec(t *testing.T) {
	for text, want := range map[string]baseSpec{
		"inet type filter hook prerouting priority raw - 5; policy accept;": {"filter", 0, -305, 1},
		"inet type nat hook output priority -105; policy drop;":             {"nat", 3, -105, 0},
		"bridge type filter hook forward priority filter + 1;":              {"filter", 2, -199, 1},
		"inet ": {"", -1, 0, 1},
	} {
		family, spec, _ := strings.Cut(text, " ")
		if have, err := parseBaseSpec(family, spec); err != nil || have != want {
			t.Errorf("%s: %+v, %v", text, have, err)
		}
	}
	for _, bad := range []string{"type filter hook nowhere priority 0;", "type filter hook input priority early;"} {
		if s, err := parseBaseSpec("inet", bad); err == nil {
			t.Errorf("%s: %+v", bad, s)
		}
	}
}
