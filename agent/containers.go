package agent

import (
	"log/slog"
	"slices"

	"github.com/heddle-network/heddle/kernel"
)

// containers finds where endpoints are now: the namespaces of their containers, and the
// container's ends of links that engines move. It has no state of its own.
type containers struct {
	namespaces Namespaces
	linkEnds   LinkEnds
	lost       LostNICs
	log        *slog.Logger
	records    *records
	removals   *removals
	holds      *holds
}

// podAtPath opens the endpoint's namespace; nil if its path does not lead there (any more).
func (c *containers) podAtPath(r record) kernel.Pod {
	pod, err := c.namespaces.OpenPod(c.holds.namespacePath(r))
	if err != nil {
		return nil
	}
	if r.isPodOf(pod) {
		return pod
	}
	pod.Close()
	return nil
}

// findPod opens the endpoint's namespace; nil if it is gone. If the path does not lead there,
// findPod searches for the namespace: a process, a mount or a file may keep it alive. It fails if
// it cannot find out.
func (c *containers) findPod(r record) (kernel.Pod, error) {
	if pod := c.podAtPath(r); pod != nil || r.Inode == 0 {
		return pod, nil
	}
	return c.namespaces.FindPod(r.Inode, r.Cookie)
}

// locate finds the container's end of an endpoint's link.
func (c *containers) locate(r record) (where linkLocation, seen *kernel.Seen, pod kernel.Pod, err error) {
	here, err := c.linkEnds.Has(r.handoverName(), r.alias())
	if err != nil || here {
		return onHost, nil, nil, err
	}
	pod, err = c.removals.openNamespace(r)
	if err != nil || c.namespaces.IsOwn(pod) {
		if pod != nil {
			pod.Close()
		}
		return nowhere, nil, nil, nil
	}
	seen, err = c.findInterface(r, pod)
	if err != nil || seen == nil {
		pod.Close()
		return nowhere, nil, nil, err
	}
	return inContainer, seen, pod, nil
}

// findInterface finds the endpoint's interface in a namespace: that of a veth pair by its end on
// the host, a device on a parent by its interface index, if known. It uses the alias only for an
// interface that was just handed over: no container that could change the alias runs yet.
func (c *containers) findInterface(r record, pod kernel.Pod) (*kernel.Seen, error) {
	for _, l := range r.Plan.Host.Links {
		if l.Kind == "veth" && l.Name == r.Endpoint.ID.PortName() {
			return c.linkEnds.FarEnd(l.Name, pod)
		}
	}
	if r.Device != 0 && r.isPodOf(pod) {
		return pod.FindIndex(r.Device)
	}
	return pod.Find(r.alias())
}

// openPod opens the endpoint's namespace; nil if its container is gone. It fails if it cannot find
// out.
func (c *containers) openPod(r record) (kernel.Pod, error) {
	if r.Endpoint.NIC != nil && !c.holds.pathIsCurrent(r) {
		return nil, nil // the agent itself keeps the namespace alive
	}
	return c.findPod(r)
}

// podAlive reports whether the endpoint's container exists. Its namespace may stay alive when the
// recorded path is gone.
func (c *containers) podAlive(r record) bool {
	switch {
	case r.offered():
		where, _, pod, err := c.locate(r)
		if pod != nil {
			pod.Close()
		}
		return err != nil || where != nowhere
	case len(r.Plan.Pod.Links) == 0 && r.Endpoint.NIC == nil:
		return false
	case r.Endpoint.NIC != nil:
		return c.holds.pathIsCurrent(r)
	}
	pod, err := c.findPod(r)
	if pod != nil {
		pod.Close()
	}
	return pod != nil || err != nil
}

// outOfSight reports whether an endpoint that was not handed over may be gone with its container.
// The kernel removes both ends of a pair at once, so while the host's end is there, the container is.
// Elsewhere the path leads to the container. watchNICs looks after endpoints with a NIC, and a
// container in the host's own namespace has nothing that could be gone.
func (c *containers) outOfSight(r record) bool {
	if r.Endpoint.Handover || !r.hasPod() || r.Endpoint.NIC != nil || r.Inode == 0 {
		return false
	}
	for _, l := range r.Plan.Host.Links {
		if l.Kind == "veth" && l.Name == r.Endpoint.ID.PortName() {
			there, err := c.linkEnds.HasPort(l.Name)
			return err == nil && !there
		}
	}
	pod := c.podAtPath(r)
	if pod != nil {
		pod.Close()
	}
	return pod == nil
}

// hasVanished reports whether an endpoint that was handed over is certainly gone. A namespace that
// cannot be opened is no proof: its path may not be visible from here. watchNICs looks after
// endpoints with a NIC, once it was seen in its container.
func (c *containers) hasVanished(r record) bool {
	if !r.Endpoint.Handover {
		return false
	}
	if r.Endpoint.NIC != nil {
		return r.offered() && c.returnedUnnoticed(r)
	}
	back, err := c.linkEnds.Has(r.handoverName(), r.alias())
	if err != nil || back {
		return err == nil && !r.offered() // its engine has moved it in, and out again
	}
	for _, l := range r.Plan.Host.Links {
		if l.Kind != "veth" {
			continue
		}
		// if the container's end were gone, the host's end would be gone, too
		if there, err := c.linkEnds.Has(l.Name, l.Alias); err != nil || there {
			return false
		}
	}
	if r.offered() {
		return !c.podAlive(r)
	}
	pod, err := c.findPod(r)
	if pod == nil {
		return err == nil
	}
	defer pod.Close()
	seen, err := c.findInterface(r, pod)
	return err == nil && seen == nil
}

// returnedUnnoticed reports whether the container of a NIC that was offered had it and has ended before that was seen: the
// kernel has put the NIC on the host under another name.
func (c *containers) returnedUnnoticed(r record) bool {
	if pod, err := c.removals.openNamespace(r); err == nil {
		pod.Close()
		return false
	}
	all, err := c.lost.MarkedNICs()
	return err == nil && slices.ContainsFunc(all, func(m kernel.MarkedNIC) bool {
		return m.Endpoint == r.Endpoint.ID.String() && m.Was == r.Endpoint.NIC.Name && m.Name != m.Was
	})
}

// openInode opens a container's namespace by way of any endpoint in it; nil if the container is
// gone.
func (c *containers) openInode(inode uint64) kernel.Pod {
	for _, r := range c.records.inNamespace(inode) {
		pod, err := c.findPod(r)
		if err != nil {
			c.log.Error("a container's namespace is not found", "endpoint", r.Endpoint.ID, "error", err)
		}
		if pod != nil && pod.Inode() == inode {
			return pod
		}
		if pod != nil {
			pod.Close()
		}
	}
	return nil
}
