package cni

import (
	"slices"

	"github.com/heddle-network/heddle"
)

// dropPublishedPorts removes from a request the ports that another interface of the
// container publishes already. Podman repeats all ports of a container when it connects it
// to another network, but a port of the host can lead to only one address.
func (h *Handler) dropPublishedPorts(req *heddle.AttachRequest) {
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
