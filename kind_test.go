package heddle_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestKinds: the table has each list of a state once, under the name that it has in
// JSON, in the order of the phases.
func TestKinds(t *testing.T) {
	lists := reflect.TypeFor[heddle.State]()
	if lists.NumField() != len(heddle.ObjectKinds) {
		t.Fatalf("%d lists, %d kinds", lists.NumField(), len(heddle.ObjectKinds))
	}
	for i, k := range heddle.ObjectKinds {
		name, _, _ := strings.Cut(lists.Field(i).Tag.Get("json"), ",")
		if k.Name != name {
			t.Errorf("kind %s stands where %s is", k.Name, name)
		}
		var s heddle.State
		list := reflect.ValueOf(&s).Elem().Field(i)
		list.Set(reflect.MakeSlice(list.Type(), 2, 2))
		if k.Count(&s) != 2 || len(s.Objects()) != 2 || s.Empty() {
			t.Errorf("kind %s does not count its list", k.Name)
		}
		all := heddle.Append(s, s)
		none := func(heddle.Object) bool { return false }
		if len(all.Objects()) != 4 || !all.Filter(none).Empty() {
			t.Errorf("kind %s: %v", k.Name, all)
		}
	}
	phase := func(a, b heddle.ObjectKind) int { return int(a.Phase - b.Phase) }
	if !slices.IsSortedFunc(heddle.ObjectKinds, phase) {
		t.Error("the kinds are not in the order of the phases")
	}
}

// TestMisplaced: what a container or the host cannot have is named.
func TestMisplaced(t *testing.T) {
	misplaced := heddle.State{
		Firewall: []heddle.Firewall{{Family: "inet", Kind: "table"}}, Elements: []heddle.Element{{Family: "inet", Set: "ports"}},
		Remotes: make([]heddle.Remote, 1), Shortcuts: make([]heddle.Shortcut, 1), Programs: []heddle.Program{{Link: "eth0"}},
		NICs: []heddle.NIC{{Name: "eth1"}}, Links: []heddle.Link{{Name: "lo"}}, Routes: make([]heddle.Route, 1),
	}
	inPod := heddle.Plan{Pod: misplaced}.Misplaced()
	want := []string{"firewall/inet/table", "element/inet/ports/", "remote/invalid IP", "shortcut/invalid Prefix", "program/eth0"}
	for i := range want {
		want[i] += " in a container"
	}
	if !slices.Equal(inPod, want) {
		t.Errorf("in a container: %q", inPod)
	}
	if onHost := (heddle.Plan{Host: misplaced}).Misplaced(); !slices.Equal(onHost, []string{"nic/eth1 on the host"}) {
		t.Errorf("on the host: %q", onHost)
	}
}
