package kernel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// makePorts makes pairs whose near ends have the names of ports, and returns these names.
func (r *room) makePorts(count int) (names []string) {
	var script strings.Builder
	for i := range count {
		name := heddle.EndpointID{Container: fmt.Sprint("many", i), IfName: "eth0"}.PortName()
		fmt.Fprintf(&script, "ip link add %s alias '%s many' type veth peer name far%d netns %s\n", name, heddle.Mark, i, r.pod)
		names = append(names, name)
	}
	r.sh(script.String())
	return names
}

// Interfaces other than ports are found with few ports, and with many.
func TestLinksButPorts(t *testing.T) {
	r := newRoom(t)
	r.sh("ip link add wan0 type veth peer name x0; ip link add hb0 type bridge")
	for _, ports := range []int{1, 20} {
		made := r.makePorts(ports)
		all, err := r.k.listing().linksButPorts()
		cell.Must(t, err)
		names := map[string]bool{}
		for _, l := range all {
			names[l.name] = l.index != 0
		}
		for _, want := range []string{"lo", "wan0", "x0", "hb0"} {
			if !names[want] {
				t.Errorf("beside %d ports, %s is not among %v", ports, want, names)
			}
		}
		if slices.ContainsFunc(made, func(n string) bool { return names[n] }) {
			t.Errorf("of %d ports, some are among %v", ports, names)
		}
		for _, name := range made {
			r.sh("ip link del " + name)
		}
	}
}

// A NIC that comes back from a container has the name that the container gave it, also that of a port.
func TestNamedAsPort(t *testing.T) {
	r := newRoom(t)
	port := heddle.EndpointID{Container: "victim", IfName: "eth0"}.PortName()
	mark := heddle.EndpointID{Container: "rogue", IfName: "eth0"}.NICAlias("wan0")
	for _, ports := range []int{1, 20} {
		r.sh(fmt.Sprintf("ip link add %s type bridge; ip link set %s alias '%s'", port, port, mark))
		made := r.makePorts(ports)
		f, err := r.k.Facts()
		cell.Must(t, err)
		if !slices.ContainsFunc(f.Links, func(l heddle.LinkFact) bool { return l.Name == port }) {
			t.Errorf("beside %d ports, what is named as a port is not among %v", ports, f.Links)
		}
		marked, err := r.k.MarkedNICs()
		cell.Must(t, err)
		if want := []MarkedNIC{{Name: port, Was: "wan0", Endpoint: "rogue/eth0"}}; !slices.Equal(marked, want) {
			t.Errorf("beside %d ports, the marked NICs are %v, want %v", ports, marked, want)
		}
		if there, err := r.k.HasPort(port); err != nil || there {
			t.Errorf("what is named as a port is one: %v, %v", there, err)
		}
		for _, name := range append(made, port) {
			r.sh("ip link del " + name)
		}
	}
}

func TestHasPort(t *testing.T) {
	r := newRoom(t)
	port := r.makePorts(1)[0]
	machine := heddle.EndpointID{Container: "machine", IfName: "eth0"}.PortName()
	r.sh("ip tuntap add " + machine + " mode tap")
	if there, err := r.k.HasPort(machine); err != nil || !there {
		t.Errorf("the port of a machine is one: %v, %v", there, err)
	}
	for name, want := range map[string]bool{port: true, "lo": false, "nobody": false} {
		if there, err := r.k.HasPort(name); err != nil || there != want {
			t.Errorf("%s is a port: %v, %v; want %v", name, there, err, want)
		}
	}
	r.sh("ip link del " + port)
	if there, err := r.k.HasPort(port); err != nil || there {
		t.Errorf("a removed interface is a port: %v, %v", there, err)
	}
}
