package agent

import (
	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/commands"
	"github.com/heddle-network/heddle/kernel"
)

// What mends the findings of checks and audits.
const (
	remedyGC         = "run 'heddle gc', which removes what belongs to nobody"
	remedyRepair     = "wait some seconds: the agent puts it back, and 'heddle status' says why where it cannot"
	remedyLate       = "wait until it is done; 'heddle status' says what it waits for"
	remedyQuarantine = "end the container; the agent removes the rest by itself"
	remedyLease      = "look after the DHCP server on the container's LAN; the agent goes on asking, and 'heddle endpoint show' says how far it is"
	remedyStranger   = "delete the device in the container, or end the container"
)

// findings returns the differences of an owner's objects, with what mends them.
func findings(owner, remedy string, drift []kernel.Difference) []heddle.Finding {
	var all []heddle.Finding
	for _, d := range drift {
		all = append(all, heddle.Finding{Kind: d.Kind, Object: d.Key, Owner: owner, Detail: d.Detail, Remedy: remedy})
	}
	return all
}

// remedy says what puts an endpoint's missing objects back. The agent does not enter a container by
// itself, except after an engine that has moved the endpoint's link there.
func (r record) remedy() string {
	if r.Endpoint.Handover || r.Endpoint.TAP {
		return remedyRepair
	}
	if r.Endpoint.NIC != nil && r.Endpoint.NIC.Plugged != nil {
		return "detach it ('heddle detach " + r.Endpoint.ID.String() + "'), and attach it again"
	}
	req := r.Request
	req.ID, req.Netns, req.DefaultRoute = r.Endpoint.ID, r.Endpoint.Netns, nil
	return "attach it again with the same settings: " + commands.Attach(req)
}
