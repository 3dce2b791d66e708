package agent

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/dhcp"
	"github.com/heddle-network/heddle/kernel"
)

// deadLAN is a parent that cannot be opened.
type deadLAN struct{ LAN }

func (deadLAN) OpenWire(kernel.Pod, string) (kernel.Wire, error) {
	return nil, errors.New("no such device")
}

// TestDHCPAsksAs: the agent knows the MAC addresses from which it asks, and no others; a client that has
// nobody to ask for is forgotten.
func TestDHCPAsksAs(t *testing.T) {
	d := &dhcpLeases{kernel: deadLAN{}, follow: func(heddle.EndpointID) {}, clients: map[string]*dhcp.Client{},
		of: map[heddle.EndpointID]*dhcp.Client{}, unsure: map[heddle.EndpointID]bool{}, failed: map[heddle.EndpointID]string{}}
	n := &network{Network: heddle.Network{ID: "n1", Parent: "lan0"}}
	e := heddle.Endpoint{ID: heddle.EndpointID{Container: "c1", IfName: "eth0"}, MAC: "0a:00:00:00:00:01"}
	d.resume(n, e)
	if !d.asksAs(e.MAC) || d.asksAs("0a:00:00:00:00:02") || !d.isUnsure(e.ID) {
		t.Errorf("asks as %s: %v", e.MAC, d.asksAs(e.MAC))
	}
	d.end(e.ID)
	if d.asksAs(e.MAC) || len(d.clients)+len(d.of)+len(d.unsure) > 0 {
		t.Errorf("left: %+v", d)
	}
}

// TestForgotten: what was leased ahead is given back after two minutes, unless it was attached meanwhile.
func TestForgotten(t *testing.T) {
	id := func(name string) heddle.EndpointID { return heddle.EndpointID{Container: name, IfName: "eth"} }
	long := time.Now().Add(-leaseTime - time.Second)
	d := &dhcpLeases{ahead: map[heddle.EndpointID]time.Time{id("old"): long, id("attached"): long}}
	d.keepAhead(id("new"))
	d.end(id("attached"))
	if got := d.forgotten(); !slices.Equal(got, []heddle.EndpointID{id("old")}) {
		t.Errorf("forgotten: %v", got)
	}
}
