package direct_test

import (
	"errors"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestEndedUnnoticed: a runtime moves the NIC, and the container ends before the agent has seen that. The kernel puts the NIC on the host under another name, as it does with
// one of hardware. The agent has it as before, and keeps no endpoint.
func TestEndedUnnoticed(t *testing.T) {
	w := world.New(t)
	newNIC(t, "lan1", 1)
	network(t, w, "net", nil, "lan1")
	before := dump(t, "lan1")
	ns := world.NewNetns(t, "pod")
	reply, err := w.Attach(ctx, w.Request(ns, "net", func(r *heddle.AttachRequest) { r.Handover, r.LinkOnly = true, true }))
	cell.Must(t, err)
	w.Restart(t, func() {
		cell.Sh(t, "ip link set lan1 netns pod name eth0; ip -n pod link set eth0 netns $$ name dev7; ip netns delete pod")
	})
	world.Within(t, slowly, "the endpoint has gone", func() error {
		if _, err := w.Agent.Endpoint(reply.Endpoint.ID); err == nil {
			return errors.New("it is there")
		}
		return nil
	})
	same(t, "after the container", before, func() string { return dump(t, "lan1") })
	w.AuditEmpty(t)
}
