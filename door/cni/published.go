package cni

import (
	"slices"

	"github.com/heddle-network/heddle"
)

// withoutPublished takes from a request the ports at which the container is
// published already, by another of its interfaces. Podman names all ports of a
// container when it connects it to one more network, and a port of the host
// leads to one address.
func (h *Handler) withoutPublished(req *heddle.AttachRequest) {
	if len(req.Ports) == 0 {
		return
	}
	var already []heddle.PortMapping
	for _, e := range h.endpoints.Endpoints() {
		if e.ID.Container == req.ID.Container && e.ID != req.ID {
			already = append(already, e.Ports...)
		}
	}
	req.Ports = slices.DeleteFunc(req.Ports, func(p heddle.PortMapping) bool { return slices.Contains(already, p) })
}
