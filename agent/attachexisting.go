package agent

import (
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// attachExisting handles a request for an endpoint ID that is recorded already. It is done if the
// endpoint is there, made complete again if necessary, or if the request differs. It is not done
// if the container has a new namespace.
func (a *Agent) attachExisting(n *network, old record, req heddle.AttachRequest,
	pod kernel.Pod) (done bool, reply heddle.AttachReply, err error) {
	defer a.activity.begin()()
	if a.records.pendingOf(req.ID) != "" {
		err := a.remove(old) // an earlier call could not finish
		if why, is := a.quarantine.reasonFor(req.ID); is {
			err = heddle.Errorf(heddle.InQuarantine, "attach endpoint", req.ID.String(), why,
				"end the container that had the endpoint, or attach under another ID")
		}
		return err != nil, reply, err
	}
	if old.Endpoint.TAP != req.TAP {
		return true, reply, endpointDiffers(req.ID, requestDifferences(old, n.Network, req))
	}
	if old.Endpoint.Handover || req.Handover {
		return a.attachHandedOver(n, old, req)
	}
	alive := pod == nil || old.isPodOf(pod)
	odd := requestDifferences(old, n.Network, req)
	odd.compare("ports", slices.Equal(old.Request.Ports, req.Ports), old.Request.Ports, req.Ports)
	odd.compare("container", alive, old.Endpoint.Netns, req.Netns)
	switch {
	case len(odd) == 0:
		err := a.applyMissing(old, pod)
		if err == nil {
			err = a.lanDevices.noteDevice(req.ID, pod)
		}
		var conf *resolvConf
		if err == nil {
			conf, err = a.resolvConfFor(n, old)
		}
		if err == nil {
			err = conf.write(req.ID)
		}
		if old, _ = a.records.get(req.ID); err == nil {
			old, err = a.defaults.change(n, old, req, pod)
		}
		reply := a.reply(n, old)
		reply.Existed = true
		return true, reply, err
	case alive || len(old.Plan.Pod.Links) == 0 || a.containers.podAlive(old):
		return true, reply, endpointDiffers(req.ID, odd)
	}
	err = a.remove(old)
	return err != nil, reply, err
}

// isPodOf reports whether the namespace is the one in which the endpoint was made. The
// objects in it are no proof: a container may rename, mark and delete them.
func (r record) isPodOf(pod kernel.Pod) bool { return pod.Is(r.Inode, r.Cookie) }
