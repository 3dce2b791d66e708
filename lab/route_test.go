package lab

import "testing"

// TestRoutesOfSmallWires: a host whose wire is too small for IPv6 has no IPv6 route.
func TestRoutesOfSmallWires(t *testing.T) {
	topology, err := Topology{Agent: Agent{Off: true}, Dir: t.TempDir(), Hosts: []Node{{Name: "small", NICs: []NIC{{MTU: 1000}}}, {Name: "usual"}}}.complete()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 2} {
		n := &topology.Hosts[i]
		if got := topology.routes(n); len(got) != want {
			t.Errorf("%s has the routes %v", n.Name, got)
		}
	}
}
