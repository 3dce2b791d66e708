package agent

import (
	"errors"
	"net/netip"
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

// fixedMAC is a mode whose containers have one MAC address, none if it is "".
type fixedMAC struct {
	heddle.Mode
	mac heddle.MAC
}

func (f fixedMAC) MAC(heddle.HostFacts, heddle.Network) heddle.MAC { return f.mac }

// TestDHCPBeside: containers on a parent are beside each other, with MAC addresses of their own; with one of all, or alone on a NIC, no
// other can send to it.
func TestDHCPBeside(t *testing.T) {
	d := &dhcpLeases{host: &hostView{}}
	for name, c := range map[string]struct {
		mode           heddle.Mode
		nic            *heddle.NIC
		shares, beside bool
	}{
		"of its own": {fixedMAC{}, nil, false, true},
		"of all":     {fixedMAC{mac: "0a:00:00:00:00:01"}, nil, true, false},
		"NIC":        {nil, &heddle.NIC{}, false, false},
	} {
		id := d.identity(&network{mode: c.mode}, heddle.Endpoint{NIC: c.nic})
		if id.SharesMAC != c.shares || id.Beside != c.beside {
			t.Errorf("%s: %+v", name, id)
		}
	}
}

// TestDHCPRefusal: an endpoint cannot have what another one has beside it on a parent. What is on the LAN of a NIC is not beside it.
func TestDHCPRefusal(t *testing.T) {
	at, records := netip.MustParsePrefix("192.0.2.7/24"), newRecords(newWantedObjects(), newNameTables())
	d := &dhcpLeases{host: &hostView{}, records: records}
	for _, nics := range []struct{ has, asks *heddle.NIC }{{nil, nil}, {&heddle.NIC{}, nil}, {nil, &heddle.NIC{}}, {&heddle.NIC{}, &heddle.NIC{}}} {
		holder := record{Endpoint: heddle.Endpoint{ID: heddle.EndpointID{Container: "a", IfName: "eth0"}, Addrs: []netip.Prefix{at}, NIC: nics.has}}
		records.add(holder, "")
		e := heddle.Endpoint{ID: heddle.EndpointID{Container: "b", IfName: "eth0"}, NIC: nics.asks}
		if why := d.refusal(&network{}, e)(at); (why != "") != (nics.has == nil && nics.asks == nil) {
			t.Errorf("%v has it, %v asks: %q", nics.has, nics.asks, why)
		}
		if why := d.refusal(&network{}, holder.Endpoint)(at); why != "" {
			t.Errorf("its own: %q", why)
		}
		records.remove(holder)
	}
}
