package agent

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// attachedBefore handles an id that is recorded already. It is done when the
// endpoint is there (made whole again if something was missing) or asked for
// differently; not done when the container's namespace is a new one.
func (a *Agent) attachedBefore(n *network, old record, req heddle.AttachRequest, pod *kernel.Netns) (done bool, reply heddle.AttachReply, err error) {
	if a.pendingOf(req.ID) != "" {
		err := a.remove(old) // what an earlier call could not finish
		return err != nil, reply, err
	}
	if old.Endpoint.Handover || req.Handover {
		return a.offeredBefore(n, old, req)
	}
	alive := pod == nil || a.isPodOf(old, pod)
	same := old.Endpoint.Network == n.ID && slices.Equal(old.Request.IPs, req.IPs) &&
		old.Request.MAC == req.MAC && old.Request.NIC == req.NIC && slices.Equal(old.Request.Ports, req.Ports)
	switch {
	case alive && same:
		err := a.realise(old, pod)
		if err == nil {
			old, err = a.changeDefault(n, old, req, pod)
		}
		reply := a.reply(n, old)
		reply.Existed = true
		return true, reply, err
	case alive || len(old.Plan.Pod.Links) == 0 || a.podAlive(old):
		return true, reply, heddle.Errorf(heddle.EndpointDiffers, "endpoint", req.ID.String(), "detach it first ('heddle detach "+req.ID.String()+"')")
	}
	err = a.remove(old)
	return err != nil, reply, err
}

// isPodOf reports whether the namespace is the one in which the endpoint was
// made: its interface there bears the endpoint's alias, or is gone from a
// namespace with the recorded number.
func (a *Agent) isPodOf(r record, pod *kernel.Netns) bool {
	alias, err := pod.Alias(r.Endpoint.Interface())
	if err != nil {
		return r.Inode == pod.Inode()
	}
	return alias == r.alias()
}

// inPod reports whether the endpoint's interface is in the namespace.
func (a *Agent) inPod(r record, pod *kernel.Netns) bool {
	alias, err := pod.Alias(r.Endpoint.Interface())
	// killed just after an interface was made, the agent had not named it yet
	return err == nil && (alias == r.alias() || alias == "" && r.Inode == pod.Inode())
}

// podAlive reports whether the recorded path still leads to the endpoint.
func (a *Agent) podAlive(r record) bool {
	switch {
	case r.offered() || r.Endpoint.Handover && r.Endpoint.NIC == nil:
		where, _, pod, err := a.whereabouts(r)
		if pod != nil {
			pod.Close()
		}
		return err != nil || where != nowhere
	case len(r.Plan.Pod.Links) == 0 && r.Endpoint.NIC == nil:
		return false
	case r.Endpoint.NIC != nil:
		return a.leadsThere(r)
	}
	pod, err := kernel.OpenNetns(r.Endpoint.Netns)
	if err != nil {
		return false
	}
	defer pod.Close()
	onParent := func(l heddle.Link) bool { return l.Parent != "" }
	// with its parent a macvlan device goes, and leaves a living container
	return a.inPod(r, pod) || r.Inode == pod.Inode() && slices.ContainsFunc(r.Plan.Pod.Links, onParent)
}
