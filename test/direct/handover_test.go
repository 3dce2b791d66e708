package direct_test

import (
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestHandedOver: an engine moves the NIC into the container itself. It comes back
// as it was, from there, from the host if it was never moved, and if the agent was
// away meanwhile.
func TestHandedOver(t *testing.T) {
	w := world.New(t)
	newNIC(t, "lan1", 1)
	network(t, w, "net", func(n *heddle.Network) {
		n.Subnets = prefixes("10.51.0.0/24")
		n.Gateways = append(n.Gateways, addr("10.51.0.1"))
		n.Ranges = prefixes("10.51.0.128/25")
	}, "lan1")
	before := dump(t, "lan1")
	look := func() string { return dump(t, "lan1") }
	for _, c := range []struct {
		name        string
		move, quiet bool
	}{{"never moved", false, false}, {"moved", true, false}, {"moved while the agent is away", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			ns := world.NewNetns(t, "pod")
			reply := w.HandOver(t, ns, "net")
			if reply.Source != "lan1" {
				t.Fatalf("the engine is told to take %q", reply.Source)
			}
			take := func() {
				if c.move {
					ns.Take(t, reply, "eth0")
					ns.Reaches(t, addr("10.51.0.1"))
				}
			}
			if c.quiet {
				w.Restart(t, take)
			} else {
				take()
			}
			if c.move {
				cell.Must(t, w.Noticed(reply.Endpoint.ID, "eth0"))
			}
			w.AuditEmpty(t)
			_, err := w.Detach(ctx, reply.Endpoint.ID)
			cell.Must(t, err)
			same(t, c.name, before, look)
			for _, l := range w.Leases() {
				cell.Must(t, w.Unlease(l.Pool, l.Addr.Addr()))
			}
			w.AuditEmpty(t)
			cell.Sh(t, "ip link show lan1")
		})
	}
}
