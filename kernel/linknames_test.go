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

func TestExists(t *testing.T) {
	r := newRoom(t)
	port := r.makePorts(1)[0]
	for name, want := range map[string]bool{port: true, "lo": true, "nobody": false} {
		if there, err := r.k.Exists(name); err != nil || there != want {
			t.Errorf("%s exists: %v, %v; want %v", name, there, err, want)
		}
	}
	r.sh("ip link del " + port)
	if there, err := r.k.Exists(port); err != nil || there {
		t.Errorf("a removed interface exists: %v, %v", there, err)
	}
	if _, err := r.k.Exists("a-name-that-is-too-long"); err == nil {
		t.Error("a name that no interface can have gives no error")
	}
}
