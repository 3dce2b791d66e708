package netavark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door"
)

// A container may be on several networks. netavark sets them up in no order, calls the plugin once for
// each, with all ports of the container, and tells nothing of the others; Podman numbers their interfaces
// in no order. So the ports and the default route belong to the first interface by name that can have
// them, in whatever order the calls come, and no network is refused for what another one may have.

// earlier reports whether an interface comes before another: eth0 before eth1, eth9 before eth10.
func earlier(a, b string) bool {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) < 0
}

// others are the endpoints of the container's other interfaces.
func (h *Handler) others(id heddle.EndpointID) []heddle.Endpoint {
	return slices.DeleteFunc(h.endpoints.Endpoints(), func(e heddle.Endpoint) bool {
		return e.ID.Container != id.Container || e.ID == id
	})
}

// takeRoute asks for the default route if the network can carry it and a later interface has it.
func (h *Handler) takeRoute(n heddle.Network, req *heddle.AttachRequest) {
	if req.DefaultRoute != nil || n.Internal || len(n.Gateways) == 0 {
		return
	}
	later := func(e heddle.Endpoint) bool { return e.DefaultRoute && earlier(req.ID.IfName, e.ID.IfName) }
	if slices.ContainsFunc(h.others(req.ID), later) {
		req.DefaultRoute = new(true)
	}
}

// takePorts leaves in the request the ports that the network can publish and no earlier interface does.
// It takes them from later interfaces; undo gives them back. What is left out, and is published nowhere
// yet, is told in a note.
func (h *Handler) takePorts(ctx context.Context, n heddle.Network, req *heddle.AttachRequest) (note string, undo func() error, err error) {
	var left []heddle.PortMapping
	req.Ports = slices.DeleteFunc(req.Ports, func(p heddle.PortMapping) bool {
		cannot := h.unpublishable(n, p) != ""
		if cannot {
			left = append(left, p)
		}
		return cannot
	})
	var undos []func() error
	undo = func() (err error) {
		for _, u := range undos {
			err = errors.Join(err, u())
		}
		return err
	}
	for _, e := range h.others(req.ID) {
		rest := slices.DeleteFunc(slices.Clone(e.Ports), func(p heddle.PortMapping) bool { return slices.Contains(req.Ports, p) })
		if len(rest) == len(e.Ports) || earlier(e.ID.IfName, req.ID.IfName) {
			continue
		}
		if _, err := h.endpoints.Publish(ctx, e.ID, rest); err != nil {
			return "", nil, errors.Join(err, undo())
		}
		undos = append(undos, func() error {
			_, err := h.endpoints.Publish(ctx, e.ID, e.Ports)
			return err
		})
	}
	req.Ports = door.Unpublished(h.endpoints.Endpoints, *req)
	if left = door.Unpublished(h.endpoints.Endpoints, heddle.AttachRequest{ID: req.ID, Ports: left}); len(left) > 0 {
		note = fmt.Sprintf("network %s does not publish %s: %s. They are published if another network of the container can do it", n.Name, list(left), h.unpublishable(n, left[0]))
		h.log.Warn("ports are left out", "endpoint", req.ID.String(), "note", note)
	}
	return note, undo, nil
}

// unpublishable says why a network cannot publish a port, and nothing if it can.
func (h *Handler) unpublishable(n heddle.Network, p heddle.PortMapping) string {
	switch {
	case !h.networks.Publishes(n):
		return "a container on a network of mode " + n.Mode + " has all its ports at its own address"
	case n.Internal:
		return "it is internal"
	case p.HostIP.IsValid() && !n.HasFamily(heddle.FamilyOf(p.HostIP)):
		return "it has no addresses of that family"
	}
	return ""
}

// list names some ports, of many the first three.
func list(ports []heddle.PortMapping) string {
	slices.SortFunc(ports, func(p, q heddle.PortMapping) int { return cmp.Compare(p.String(), q.String()) })
	const most = 3
	if len(ports) <= most {
		return heddle.List(ports)
	}
	return fmt.Sprintf("%s and %d more", heddle.List(ports[:most]), len(ports)-most)
}
