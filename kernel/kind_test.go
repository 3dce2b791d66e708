package kernel

import (
	"testing"

	"github.com/heddle-network/heddle"
)

// TestKinds: the interpreter knows exactly the kinds that plans can have.
func TestKinds(t *testing.T) {
	for _, k := range heddle.ObjectKinds {
		if kinds[k.Name] == nil {
			t.Errorf("nobody makes %s", k.Name)
		}
	}
	if len(kinds) != len(heddle.ObjectKinds) {
		t.Errorf("%d kinds, of which plans know %d", len(kinds), len(heddle.ObjectKinds))
	}
}

// TestMisplacedIsRefused: a plan with an object in a namespace where its kind cannot be is refused
// before anything is changed.
func TestMisplacedIsRefused(t *testing.T) {
	r := newRoom(t)
	link := heddle.Link{Name: "lo"}
	for name, p := range map[string]heddle.Plan{
		"firewall in a container": {Pod: heddle.State{Links: []heddle.Link{link}, Firewall: []heddle.Firewall{{Family: "inet", Kind: "table"}}}},
		"program in a container":  {Pod: heddle.State{Links: []heddle.Link{link}, Programs: []heddle.Program{{Link: "lo"}}}},
		"remote in a container":   {Pod: heddle.State{Links: []heddle.Link{link}, Remotes: make([]heddle.Remote, 1)}},
		"NIC on the host":         {Host: heddle.State{NICs: []heddle.NIC{{Name: "up0"}}}},
	} {
		made, errApply := r.k.Apply(p, r.podNS)
		_, errDiff := r.k.Diff(p, r.podNS)
		for verb, err := range map[string]error{"apply": errApply, "diff": errDiff, "remove": r.k.Remove(p, r.podNS, nil)} {
			if heddle.KernelRefused.In(err) == nil {
				t.Errorf("%s: %s: %v", name, verb, err)
			}
		}
		if made != nil {
			t.Errorf("%s: made %v", name, made)
		}
	}
}
