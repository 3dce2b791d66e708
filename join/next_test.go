package join

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/store"
)

// TestNext has the next step for members and named keepers. A letter is a host: upper case has a
// vote, lower case is a learner, and one after a dot has not started.
func TestNext(t *testing.T) {
	for _, c := range []struct{ named, members, late, want string }{
		{"a", "A", "", ""},
		{"ab", "A", "", ""},
		{"ab", "Ab", "", ""},          // b stands by
		{"ab", "AB", "", "off b"},     // an even number of votes is no better
		{"abc", "AB", "", ""},         // c is about to come
		{"abc", "Abc", "", "vote bc"}, // not one alone
		{"abc", "ABc", "", "vote c"},
		{"abc", "ABC", "", ""},
		{"abc", "A.b", "", ""},
		{"abc", "A.b", "b", "off b"},
		{"abcd", "ABCd", "", ""},
		{"abcd", "ABCD", "", "off d"},
		{"abcde", "ABCde", "", "vote de"},
		{"ab", "ABC", "", "off c"}, // c is named no more
		{"bc", "ABC", "", "off a"}, // also if it decides
		{"b", "Ab", "", "vote b"},  // who stays gets the vote first
		{"b", "A", "", ""},         // and is waited for
		{"b", "AB", "", "off a"},
		{"ab", "Abc", "", "off c"}, // a learner that nobody named
		{"abx", "ABx", "", "vote x"},
		{"ab", "ABz", "", "off z"}, // a member on no host of the cluster
	} {
		s := state{alive: func(string) bool { return true }, self: "a"}
		address := func(name rune) []netip.Addr { return []netip.Addr{netip.AddrFrom4([4]byte{192, 0, 2, byte(name)})} }
		for _, name := range "abcdexy" {
			s.hosts = append(s.hosts, admitted{name: string(name), admission: admission{Underlay: address(name)}, keeper: strings.ContainsRune(c.named, name)})
		}
		started := true
		for _, x := range c.members {
			if x == '.' {
				started = false
				continue
			}
			low := []rune(strings.ToLower(string(x)))[0]
			m := member{ID: uint64(low), Learner: low == x, Peers: []string{peerURL(address(low))}}
			if started {
				m.Name = string(low)
			}
			s.members, started = append(s.members, m), true
		}
		promote, off := s.nextStep(func(m member) bool { return strings.ContainsRune(c.late, rune(m.ID)) })
		got := ""
		if off != nil {
			got = fmt.Sprintf("off %c", rune(off.ID))
		} else if len(promote) > 0 {
			got = "vote "
			for _, m := range promote {
				got += string(rune(m.ID))
			}
		}
		if got != c.want {
			t.Errorf("named %s, members %s: %q, not %q", c.named, c.members, got, c.want)
		}
	}
}

// TestPosing: a host that claims the address of a keeper is not mistaken for it, also if it came
// first.
func TestPosing(t *testing.T) {
	at := []netip.Addr{netip.MustParseAddr("192.0.2.1")}
	s := state{hosts: []admitted{{name: "poser", admission: admission{Underlay: at}}, {name: "keeper", admission: admission{Underlay: at}, keeper: true}}}
	if got := s.hostOf(member{Peers: []string{peerURL(at)}}); got != "keeper" {
		t.Errorf("the member is taken for that of %s", got)
	}
}

// TestDemotion: hosts are demoted only if the remaining keepers are still keepers. Otherwise two
// operators could demote all at once.
func TestDemotion(t *testing.T) {
	s := state{hosts: []admitted{{name: "a", keeper: true, keeperRevision: 3}, {name: "b", keeper: true, keeperRevision: 5}, {name: "c"}, {name: "d", keeper: true, keeperRevision: 7}}}
	want := store.Change{Delete: []string{keeperKey("a")}, Require: []store.Condition{{Key: keeperKey("b"), Revision: 5}, {Key: keeperKey("d"), Revision: 7}}}
	if got := s.demotion([]string{"a"}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
