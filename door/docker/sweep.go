package docker

import (
	"errors"
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
)

// NetworkOf returns the network of a binding. A network whose creation was interrupted is
// found by its provisional name.
func (s *Server) NetworkOf(b Binding) (heddle.Network, error) {
	if b.pending() {
		return s.agent.Network(heddle.ProvisionalDockerName(b.DockerID))
	}
	return s.agent.NetworkByID(b.NetworkID)
}

// Part is this door's line in the agent's status.
func (s *Server) Part() heddle.PartStatus {
	p := heddle.PartStatus{Name: "docker", State: "ok"}
	unnamed, gone := 0, 0
	all := slices.DeleteFunc(s.networks.list(), Binding.pending)
	for _, b := range all {
		switch n, err := s.agent.NetworkByID(b.NetworkID); {
		case err != nil:
			gone++
		case n.HasProvisionalName():
			unnamed++
		}
	}
	p.Detail = heddle.Count(len(all), "network")
	if unnamed > 0 {
		p.State, p.Detail = "warn", p.Detail+fmt.Sprintf(", of %d dockerd has not told the name", unnamed)
	}
	if gone > 0 {
		p.State, p.Detail = "warn", p.Detail+fmt.Sprintf(", %d of them deleted here", gone)
	}
	return p
}

// Sweep removes networks that an earlier agent made for an engine, and died before it
// answered. While the store does not answer, they stay, and package reconcile removes them
// later. Sweep must be called before Serve.
func (s *Server) Sweep() {
	unbound := func(network string) bool { _, known := s.networks.find(network); return !known }
	if err := s.endpoints.dropOfNetworks(unbound); err != nil {
		s.log.Error("endpoints of networks that are gone are not forgotten", "error", err)
	}
	for _, b := range s.networks.list() {
		if !b.pending() {
			continue
		}
		n, err := s.NetworkOf(b)
		if errors.Is(err, heddle.NoNetwork.Sentinel()) && s.agent.Spans("overlay") {
			continue // the store may not have sent it yet
		}
		if err == nil {
			err = s.agent.DeleteNetwork(n.ID)
			s.log.Info("a network that no engine knows is removed", "network", n.Name, "error", err)
		}
		if err != nil && !errors.Is(err, heddle.NoNetwork.Sentinel()) {
			continue // package reconcile tries again
		}
		if err := s.Forget(b.DockerID); err != nil {
			s.log.Error("a network that is gone is not forgotten", "docker", b.DockerID, "error", err)
		}
	}
}
