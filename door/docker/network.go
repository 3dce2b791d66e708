package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/heddle-network/heddle"
)

func (s *Server) capabilities(context.Context, empty) (any, error) {
	return capabilities{Scope: "local", ConnectivityScope: "local", GwAllocChecker: true}, nil
}

// gatewayCheck answers engines from 28.0 on. As with the engine's own drivers, a network
// has a gateway, or leaves the gateway's address unused.
func (s *Server) gatewayCheck(context.Context, gatewayQuery) (any, error) {
	return gatewayAnswer{}, nil
}

// discover does nothing: engines in a swarm report nodes here, but agents find each other.
func (s *Server) discover(context.Context, empty) (any, error) { return empty{}, nil }

// Networks lists the bindings: which network of the engine is which of ours.
func (s *Server) Networks() []Binding { return s.networks.list() }

// Named records that a network now has the engine's name.
func (s *Server) Named(dockerID string) error { return s.networks.named(dockerID) }

// Withdraw sets whether the engine's removal of a network leaves our network as it is.
func (s *Server) Withdraw(dockerID string, yes bool) error {
	return s.networks.withdraw(dockerID, yes)
}

// Forget deletes the record of a network that the engine does not have any more, and its
// endpoints that nobody has joined.
func (s *Server) Forget(dockerID string) error {
	if err := s.networks.put(Binding{DockerID: dockerID}); err != nil {
		return err
	}
	return s.endpoints.dropOfNetworks(func(network string) bool { return network == dockerID })
}

// createNetwork makes a network with a provisional name, or binds to an existing one if the
// request has its id (heddle.id).
func (s *Server) createNetwork(_ context.Context, q createNetwork) (any, error) {
	if q.NetworkID == "" {
		return nil, heddle.Errorf(heddle.BadID, "create network", "", "the request has no NetworkID", "send the NetworkID")
	}
	if _, err := s.network(q.NetworkID); err == nil {
		return empty{}, nil // a repeated request, after the connection broke
	}
	w, err := parseNetworkRequest(q, s.agent.Spans("overlay"))
	if err != nil {
		return nil, err
	}
	if w.id != "" {
		return empty{}, s.bindExisting(q.NetworkID, w)
	}
	if err := s.checkUsable(w); err != nil {
		return nil, err
	}
	w.network.Ranges = s.rangesOf(w)
	return empty{}, s.makeNetwork(q.NetworkID, w.network)
}

// makeNetwork creates a network. It records its intent first, so that the network's owner is
// known whatever happens.
func (s *Server) makeNetwork(dockerID string, wanted heddle.Network) error {
	if err := s.networks.put(Binding{DockerID: dockerID, Provisional: true}); err != nil {
		return err
	}
	made, _, err := s.agent.CreateNetwork(wanted, false)
	switch {
	case heddle.KindOf(err) == heddle.Timeout:
		return err // the store may have it in spite of the error
	case err != nil:
		return errors.Join(err, s.Forget(dockerID))
	}
	if err := s.networks.put(Binding{DockerID: dockerID, NetworkID: made.ID, Provisional: made.HasProvisionalName()}); err != nil {
		return errors.Join(err, s.agent.DeleteNetwork(made.ID))
	}
	return nil
}

// checkUsable refuses what an agent would accept but an engine could not use.
func (s *Server) checkUsable(w networkRequest) error {
	n := w.network
	if n.Mode == "host" {
		return heddle.Errorf(heddle.BadOption, "create network", "", "option mode=host needs no driver in Docker",
			"start containers with --network host")
	}
	if n.FromDHCP() && len(n.Subnets) > 0 {
		return heddle.Errorf(heddle.DockerIPAM, "create network", "",
			"the DHCP server of the parent's LAN gives the addresses, and Docker's IPAM driver would give others ("+heddle.List(n.Subnets)+")", "create it with --ipam-driver null")
	}
	switch {
	case n.FromRouters():
		return heddle.Errorf(heddle.BadOption, "create network", "",
			"Docker wants to know a container's addresses before, and would not follow routers that advertise others later (ipv6="+n.Options[heddle.OptionIPv6]+")", "leave option ipv6 out")
	case n.FromDHCP() && n.Mode == "direct":
		return heddle.Errorf(heddle.BadOption, "create network", "",
			"Docker wants to know a container's address before, and that of a NIC is asked for when the container has it", "use mode macvlan or ipvlan, or give a subnet")
	}
	foreign := func(space string) bool { return !isOwnSpace(space) }
	if i := slices.IndexFunc(w.spaces, foreign); i >= 0 && s.agent.Spans(n.Mode) {
		remedy := "create it with --ipam-driver heddle"
		if !w.modeGiven {
			remedy += ", or on this host alone with -o mode=bridge"
		}
		return heddle.Errorf(heddle.DockerIPAM, "create network", "",
			"a network of mode "+n.Mode+" cannot have addresses from Docker's own IPAM driver ("+n.Subnets[i].String()+")", remedy)
	}
	return nil
}

// bindExisting binds the engine's network to one of ours.
func (s *Server) bindExisting(dockerID string, w networkRequest) error {
	n, err := s.agent.NetworkByID(w.id)
	if err != nil {
		return err
	}
	for _, subnet := range w.network.Subnets {
		if !slices.Contains(n.Subnets, subnet) {
			return heddle.Errorf(heddle.BadSubnet, "create network", n.Name,
				fmt.Sprintf("it exists, with the subnets %s, and not %s", heddle.List(n.Subnets), subnet),
				"give the subnets of the network with --subnet")
		}
	}
	if len(w.network.Subnets) != len(n.Subnets) {
		return heddle.Errorf(heddle.BadSubnet, "create network", n.Name, fmt.Sprintf("it exists, with the subnets %s, and not only %s", heddle.List(n.Subnets), heddle.List(w.network.Subnets)),
			"give each subnet with --subnet, and --ipv6 if there is one of IPv6")
	}
	return s.networks.put(Binding{DockerID: dockerID, NetworkID: n.ID})
}

// deleteNetwork deletes a network, on all hosts if it is on several. A missing network is
// no error. The engine deletes its own network whatever the answer is. If the deletion
// fails and no other host knows the network, the binding stays, and package reconcile tries
// again. A network that other hosts use stays with them, and this engine gets it anew.
func (s *Server) deleteNetwork(_ context.Context, q networkRef) (any, error) {
	b, known := s.networks.find(q.NetworkID)
	if !known || b.Withdrawn {
		return empty{}, s.Forget(q.NetworkID)
	}
	n, err := s.NetworkOf(b)
	if err == nil {
		err = s.agent.DeleteNetwork(n.ID)
	}
	if errors.Is(err, heddle.NoNetwork.Sentinel()) {
		err = nil
	}
	if err != nil && (b.Provisional || !n.Shared) {
		return nil, err
	}
	return empty{}, errors.Join(err, s.Forget(q.NetworkID))
}

// undoCreateNetwork undoes a creation. A network that existed before stays.
func (s *Server) undoCreateNetwork(ctx context.Context, q createNetwork) (any, error) {
	if w, err := parseNetworkRequest(q, false); err != nil || w.id != "" {
		return empty{}, s.Forget(q.NetworkID)
	}
	return s.deleteNetwork(ctx, networkRef{q.NetworkID})
}

// network returns our network for the engine's id.
func (s *Server) network(dockerID string) (heddle.Network, error) {
	b, known := s.networks.find(dockerID)
	if !known || b.pending() {
		return heddle.Network{}, heddle.Errorf(heddle.NoNetwork, "find network of Docker", heddle.ShortDockerID(dockerID),
			"the agent has no record of it", "remove the network with 'docker network rm', and create it again")
	}
	return s.agent.NetworkByID(b.NetworkID)
}
