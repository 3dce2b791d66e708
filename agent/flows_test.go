package agent

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestStuck: connections that could not be forgotten are tried again once, by the endpoint that
// gets the address.
func TestStuck(t *testing.T) {
	e := heddle.Endpoint{Addrs: []netip.Prefix{netip.MustParsePrefix("10.0.0.2/24"),
		netip.MustParsePrefix("fd00::2/64")}}
	another := netip.MustParseAddr("10.0.0.3")
	var o oldFlows
	if o.takeStuck(e) != nil {
		t.Error("something is stuck at first")
	}
	if !o.add([]netip.Addr{e.Addrs[0].Addr(), another}) {
		t.Error("no batch was begun")
	}
	b := o.take()
	o.keep(b)
	close(b.done)
	o.await(e) // the batch is done, so this does not wait
	if got := fmt.Sprint(o.takeStuck(e)); got != "[10.0.0.2]" {
		t.Errorf("stuck: %s", got)
	}
	if o.takeStuck(e) != nil || len(o.stuck) != 1 || !o.stuck[another] {
		t.Errorf("afterwards: %v", o.stuck)
	}
}
