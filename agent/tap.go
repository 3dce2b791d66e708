package agent

import (
	"github.com/heddle-network/heddle"
)

// checkTAP refuses an endpoint with a TAP device where a mode cannot give one, and what makes sense only for a container.
func checkTAP(n *network, req heddle.AttachRequest) error {
	const op = "attach endpoint with a TAP device"
	object := req.ID.String() + " to network " + n.Name
	if !req.TAP && req.MultiQueue {
		return heddle.Errorf(heddle.BadOption, op, object, "only a TAP device can have several queues, and the request asks for none", "give --tap, too, or leave --multi-queue out")
	}
	if !req.TAP {
		return nil
	}
	if w, ok := n.mode.(heddle.TAPWirer); !ok || !w.WiresTAPs() {
		return heddle.Errorf(heddle.BadOption, op, object, "a network of mode "+n.Mode+" has no TAP devices to give",
			"use a network of mode bridge")
	}
	switch {
	case req.Netns != "" || req.Handover:
		return heddle.Errorf(heddle.BadArgument, op, object, "the request names a network namespace, and a TAP device has no other end that could be in it",
			"leave --netns and --pid out")
	case req.ResolvConf:
		return heddle.Errorf(heddle.BadOption, op, object, "the resolv.conf of a virtual machine is not on this host", "leave --resolv-conf out")
	}
	return nil
}
