package stage

import (
	"context"
	"errors"
	"fmt"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/link"
	"github.com/heddle-network/heddle/crowd/play"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// port is the interface that users and services have.
const port = "eth0"

// attach attaches the users from one number to another, a few at a time, and returns their seats, also of those that
// were attached before one failed.
func (s *Stage) attach(ctx context.Context, first, last int) ([]play.Seat, error) {
	seats, count := make([]play.Seat, max(0, last-first+1)), first-1
	err := eachOf(ctx, len(seats), func(i int) error {
		seat, err := s.userSeat(ctx, first+i)
		s.mu.Lock()
		defer s.mu.Unlock()
		seats[i] = seat
		if count++; err == nil {
			s.options.Attached(count)
		}
		return err
	})
	return seats, err
}

// capture begins to capture the packets of users, from the first one's number on.
func (s *Stage) capture(first int, seats []play.Seat) error {
	if s.options.Capture == nil {
		return nil
	}
	for i, seat := range seats {
		if err := s.options.Capture.Add(first+i, userName(first+i), seat.Namespace, port); err != nil {
			return heddle.Wrap(heddle.CrowdFailed, "capture packets of", userName(first+i), err, "load the kernel's module af_packet, or leave --capture out")
		}
	}
	return nil
}

// linkOf is the link of a user's persona, as it is now.
func (s *Stage) linkOf(user int) (scenario.Link, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	as, has := s.links[s.options.Persona(user)]
	return as, has
}

// link gives users their links, from the first one's number on. Services are told of the first ones.
func (s *Stage) link(ctx context.Context, first int, seats []play.Seat) error {
	linked := func(user int) bool { _, has := s.options.Links[s.options.Persona(user)]; return has }
	some := false
	for i := range seats {
		some = some || linked(first+i)
	}
	if !some {
		return nil
	}
	err := eachOf(ctx, len(seats), func(i int) error {
		as, has := s.linkOf(first + i)
		if !has {
			return nil
		}
		if err := s.Links.Put(seats[i].Namespace, port, as, s.options.Seed, first+i); err != nil {
			return heddle.Wrap(heddle.CrowdFailed, "give link to", userName(first+i), err, "see the kernel's message")
		}
		return nil
	})
	if err != nil {
		return err
	}
	for name, seat := range s.Services {
		if err := link.ForgetOrphans(seat.Namespace); err != nil {
			return heddle.Wrap(heddle.CrowdFailed, "give links to users of service", name, err, "see the kernel's message")
		}
	}
	return nil
}

func idOf(container string) heddle.EndpointID {
	return heddle.EndpointID{Container: container, IfName: port}
}

// serviceID is the container's ID of a service.
func serviceID(name string) string { return "crowd-service-" + name }

func userName(number int) string { return fmt.Sprintf("crowd-user-%d", number) }

// seat makes a namespace at a place, and attaches it. Services have names. If it fails, the seat has the namespace, if there is one.
func (s *Stage) seat(ctx context.Context, at place, container, name string) (play.Seat, error) {
	n, err := at.holder.New()
	if err != nil {
		return play.Seat{}, heddle.Wrap(heddle.CrowdFailed, "make network namespace of", container, err,
			"call as root; see fs.mount-max and user.max_net_namespaces")
	}
	id := idOf(container)
	reply, err := at.Agent.Attach(ctx, heddle.AttachRequest{Network: s.options.Network.Name, ID: id, Netns: n.Path(), Name: name, Owner: owner})
	if !errors.Is(err, heddle.EndpointDiffers.Sentinel()) { // otherwise it is another crowd's
		s.mu.Lock()
		s.all[id] = at
		s.mu.Unlock()
	}
	if err != nil {
		return play.Seat{Namespace: n}, err
	}
	seat := play.Seat{Namespace: n, Resolvers: reply.Resolvers}
	if name != "" && len(reply.Search) > 0 {
		seat.Name = name + "." + reply.Search[0]
	}
	return s.admit(seat, reply.Endpoint, container)
}

// admit gives a seat the addresses of its endpoint, which services answer from then on.
func (s *Stage) admit(seat play.Seat, at heddle.Endpoint, user string) (play.Seat, error) {
	for _, p := range at.Addrs {
		seat.Addrs = append(seat.Addrs, p.Addr())
	}
	s.guests.Admit(seat.Addrs...)
	if len(seat.Addrs) == 0 {
		return seat, heddle.Errorf(heddle.CrowdFailed, "attach user", user,
			"network "+s.options.Network.Name+" gives no addresses of its own", "choose a network of another mode")
	}
	return seat, nil
}
