package agent

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// offered reports whether the endpoint is handed over and its engine has not yet moved it, as far
// as known.
func (r record) offered() bool { return r.Endpoint.Handover && r.Endpoint.Inside == "" }

// attachHandedOver handles a request for a recorded endpoint that is handed over. It is not done
// if nothing of the endpoint is left, or if nobody has moved the link yet and the request differs.
func (a *Agent) attachHandedOver(n *network, old record,
	req heddle.AttachRequest) (done bool, reply heddle.AttachReply, err error) {
	old, where, err := a.handovers.completeHandover(old)
	if err != nil {
		return true, reply, err
	}
	odd := requestDifferences(old, n.Network, req)
	odd.compare("container", old.Request.Netns == req.Netns, old.Request.Netns, req.Netns)
	odd.compare("handed over", old.Endpoint.Handover == req.Handover, old.Endpoint.Handover, req.Handover)
	switch {
	case where != nowhere && len(odd) == 0 && (where == onHost) == old.offered():
		if where == onHost {
			err = a.applyMissing(old, nil)
		}
		reply = a.reply(n, old)
		reply.Existed = true
		return true, reply, err
	case where == inContainer:
		return true, reply, endpointDiffers(req.ID, odd)
	}
	err = a.remove(old)
	return err != nil, reply, err
}

// repairHandover puts back missing parts of an endpoint that is handed over. It does not make a
// missing link again, because the engine has to ask for that.
func (o *handovers) repairHandover(r record) (made []string, err error) {
	r, where, err := o.completeHandover(r)
	switch {
	case err != nil || r.Endpoint.NIC != nil:
		return nil, err
	case where == onHost && r.offered():
		defer o.linkLocks.lockShared(r)()
		return o.kernel.Apply(r.Plan, nil)
	case where != inContainer || r.offered():
		return nil, nil
	}
	pod, err := o.namespaces.OpenPod(r.Endpoint.Netns)
	if err != nil {
		return nil, nil
	}
	defer pod.Close()
	return o.reapply(r, pod)
}

// removalPlan returns what has to be removed with an endpoint, and the endpoint's namespace. For
// an endpoint that was handed over, this includes the container's end wherever it is now. If the
// path does not lead to the namespace, removalPlan searches for it only if it may hold something
// that outlives the host's end. A search takes long on a full host, and most namespaces are gone
// by then.
func (o *handovers) removalPlan(r record) (plan heddle.Plan, pod kernel.Pod, err error) {
	outlives := r.parent() != "" || r.Endpoint.NIC != nil
	switch {
	case !r.Endpoint.Handover && outlives:
		pod, err = o.containers.findPod(r)
		return r.Plan, pod, err
	case !r.Endpoint.Handover:
		return r.Plan, o.containers.podAtPath(r), nil
	}
	end := heddle.Link{Name: r.handoverName(), Kind: "veth", Alias: r.alias()}
	p := heddle.Plan{Host: r.Plan.Host, Pod: heddle.State{NICs: r.Plan.Pod.NICs}}
	if r.Endpoint.NIC == nil {
		p.Host.Links = append(slices.Clone(p.Host.Links), end)
	}
	_, seen, pod, err := o.containers.locate(r)
	if err != nil {
		o.log.Warn("the container's end of a link is not found", "endpoint", r.Endpoint.ID, "error", err)
	}
	if seen != nil && r.Endpoint.NIC == nil {
		end.Name = seen.Name
		p.Pod.Links = []heddle.Link{end}
	}
	if pod == nil && outlives {
		pod, err = o.containers.findPod(r)
		return p, pod, err
	}
	return p, pod, nil
}

// reapply puts back missing parts of an endpoint, and records its device.
func (o *handovers) reapply(r record, pod kernel.Pod) (made []string, err error) {
	defer o.linkLocks.lockShared(r)()
	if made, err = o.kernel.Apply(r.Plan, pod); err == nil {
		err = o.lanDevices.noteDevice(r.Endpoint.ID, pod)
	}
	return made, err
}
