package stage

import (
	"context"
	"errors"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/engine"
	"github.com/heddle-network/heddle/crowd/play"
)

// userSeats gives users at one place their seats: a container of the engine for the only one, or namespaces of the crowd's.
func (s *Stage) userSeats(ctx context.Context, numbers []int) ([]play.Seat, error) {
	at := s.places[s.placeOf(numbers[0])]
	if s.options.Engine != nil {
		seat, err := s.contained(ctx, at, userName(numbers[0]))
		return []play.Seat{seat}, err
	}
	var all []occupant
	for _, number := range numbers {
		all = append(all, occupant{container: userName(number)})
	}
	return s.seats(ctx, at, all)
}

// contained has the engine make a container, and looks where the agent has attached it. If it fails, the seat has the namespace, if there is one.
func (s *Stage) contained(ctx context.Context, at place, user string) (play.Seat, error) {
	made, err := s.options.Engine.Start(ctx, user)
	if err != nil {
		return play.Seat{}, err
	}
	n, err := at.holder.Hold(made.Netns())
	if err != nil {
		return play.Seat{}, heddle.Wrap(heddle.CrowdFailed, "hold network namespace of container", user, err, "see whether the container runs")
	}
	seat := play.Seat{Namespace: n}
	there, err := at.Agent.Endpoint(ctx, made.Endpoint)
	if errors.Is(err, heddle.NoEndpoint.Sentinel()) {
		return seat, heddle.Errorf(heddle.CrowdFailed, "find container on network", s.options.Network.Name, "the client has attached "+user+" to another network of that name",
			"name one that the client has from heddle")
	}
	if err != nil {
		return seat, err
	}
	if there.Network != s.options.Network.ID {
		return seat, heddle.Errorf(heddle.CrowdFailed, "find container on network", s.options.Network.Name,
			user+" is on the agent's network "+there.NetworkName, "see which network the client has under that name")
	}
	if there.Interface() != port && there.Inside != "" {
		return seat, heddle.Errorf(heddle.CrowdFailed, "find interface "+port+" of container", user, "the client calls it "+there.Interface(), "report it")
	}
	seat.Resolvers = s.resolversFor(made, there)
	return s.admit(seat, there, user)
}

// resolversFor are the name servers that a user in a container asks: the network's, or the client's, if what these are asked is led to the network's.
// Otherwise nobody answers for the names of services, and nobody asks.
func (s *Stage) resolversFor(made engine.Container, at heddle.Endpoint) []netip.Addr {
	for _, service := range s.Services { // all are on the network
		if made.Resolvers == nil || len(service.Resolvers) == 0 {
			return service.Resolvers
		}
	}
	if len(at.NameServers) == 0 {
		return nil
	}
	return made.Resolvers
}

// endUsers removes the containers of users, if they have any.
func (s *Stage) endUsers(ctx context.Context, numbers []int) error {
	if s.options.Engine == nil {
		return nil
	}
	var names []string
	for _, user := range numbers {
		names = append(names, userName(user))
	}
	s.awaitAgents(ctx) // the client calls it
	return s.options.Engine.Remove(ctx, names...)
}
