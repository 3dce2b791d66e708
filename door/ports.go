package door

import (
	"slices"

	"github.com/heddle-network/heddle"
)

// Unpublished are the ports of a request that no other interface of the container publishes
// already. Podman repeats all ports of a container for each of its networks, but a port of the host
// can lead to only one address.
func Unpublished(endpoints func() []heddle.Endpoint, req heddle.AttachRequest) []heddle.PortMapping {
	if len(req.Ports) == 0 {
		return nil
	}
	var already []heddle.PortMapping
	for _, e := range endpoints() {
		if e.ID.Container == req.ID.Container && e.ID != req.ID {
			already = append(already, e.Ports...)
		}
	}
	return slices.DeleteFunc(req.Ports, func(p heddle.PortMapping) bool { return slices.Contains(already, p) })
}
