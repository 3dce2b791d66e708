package docker

import (
	"errors"
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
)

// NetworkOf is the network of a binding; one that was about to be made is known by
// its provisional name.
func (s *Server) NetworkOf(b Binding) (heddle.Network, error) {
	if b.intent() {
		return s.agent.Network(heddle.ProvisionalDockerName(b.DockerID))
	}
	return s.agent.NetworkByID(b.NetworkID)
}

// Part is this door's line in the agent's status.
func (s *Server) Part() heddle.PartStatus {
	p := heddle.PartStatus{Name: "docker", State: "ok"}
	unnamed, gone := 0, 0
	all := slices.DeleteFunc(s.networks.list(), Binding.intent)
	for _, b := range all {
		switch n, err := s.agent.NetworkByID(b.NetworkID); {
		case err != nil:
			gone++
		case n.HasProvisionalName():
			unnamed++
		}
	}
	p.Detail = fmt.Sprintf("%d networks", len(all))
	if unnamed > 0 {
		p.State, p.Detail = "warn", p.Detail+fmt.Sprintf(", of %d dockerd has not told the name", unnamed)
	}
	if gone > 0 {
		p.State, p.Detail = "warn", p.Detail+fmt.Sprintf(", %d of them deleted here", gone)
	}
	return p
}

// Sweep removes networks that were made while an engine waited, and that it was not
// told of: the agent died before. What the store cannot be asked about stays, for
// whoever keeps the engine's networks. Nobody is served yet.
func (s *Server) Sweep() {
	unbound := func(network string) bool { _, known := s.networks.find(network); return !known }
	if err := s.endpoints.dropOf(unbound); err != nil {
		s.log.Error("endpoints of networks that are gone are not forgotten", "error", err)
	}
	for _, b := range s.networks.list() {
		if !b.intent() {
			continue
		}
		n, err := s.NetworkOf(b)
		if errors.Is(err, heddle.NoNetwork.Sentinel()) && s.agent.Spans("overlay") {
			continue // the store may be about to tell of it
		}
		if err == nil {
			err = s.agent.DeleteNetwork(n.ID)
			s.log.Info("a network that no engine knows is removed", "network", n.Name, "error", err)
		}
		if err != nil && !errors.Is(err, heddle.NoNetwork.Sentinel()) {
			continue // whoever keeps the engine's networks tries again
		}
		if err := s.Forget(b.DockerID); err != nil {
			s.log.Error("a network that is gone is not forgotten", "docker", b.DockerID, "error", err)
		}
	}
}
