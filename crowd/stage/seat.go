package stage

import (
	"cmp"
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

// batchSize is how many users one call of an agent attaches.
const batchSize = 64

// attach attaches the users from one number to another, and returns their seats, also of those that were attached before
// one failed.
func (s *Stage) attach(ctx context.Context, first, last int) ([]play.Seat, error) {
	parties, seats, count := s.parties(first, last), make([]play.Seat, max(0, last-first+1)), s.options.Part.Count(first-1)
	err := eachOf(ctx, len(parties), func(i int) error {
		some, err := s.userSeats(ctx, parties[i])
		s.mu.Lock()
		defer s.mu.Unlock()
		for k, seat := range some {
			seats[parties[i][k]-first] = seat
		}
		if count += len(some); err == nil { // of a part, those that are here
			s.options.Attached(count)
		}
		return err
	})
	return seats, err
}

// parties are the users from one number to another, in groups that are attached together. Those of a group are at one place.
func (s *Stage) parties(first, last int) (all [][]int) {
	size := batchSize
	if s.options.Engine != nil {
		size = 1
	}
	open := make([][]int, len(s.places))
	for number := first; number <= last; number++ {
		if !s.options.Part.Has(number) {
			continue
		}
		at := s.placeOf(number)
		open[at] = append(open[at], number)
		if isLast := number > last-max(len(s.places), s.options.Part.Of); isLast || len(open[at]) == size {
			all, open[at] = append(all, open[at]), nil
		}
	}
	return all
}

// capture begins to capture the packets of users, from the first one's number on.
func (s *Stage) capture(first int, seats []play.Seat) error {
	if s.options.Capture == nil {
		return nil
	}
	for i, seat := range seats {
		if !s.options.Part.Has(first + i) {
			continue
		}
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
	linked := func(user int) bool {
		_, has := s.options.Links[s.options.Persona(user)]
		return has && s.options.Part.Has(user)
	}
	some := false
	for i := range seats {
		some = some || linked(first+i)
	}
	if !some {
		return nil
	}
	err := eachOf(ctx, len(seats), func(i int) error {
		as, has := s.linkOf(first + i)
		if !has || !s.options.Part.Has(first+i) {
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

// serviceID is the container's ID of a service. A crowd in parts has others, so that each kind finds the other on a network.
func (s *Stage) serviceID(name string) string {
	if s.options.Part.IsAll() {
		return "crowd-service-" + name
	}
	return "crowd-shared-" + name
}

func userName(number int) string { return fmt.Sprintf("crowd-user-%d", number) }

// occupant is who gets a seat: the ID of the container, and a name that others find it by, if it has one.
type occupant struct{ container, name string }

// seat makes a namespace at a place, and attaches it. Services have names. If it fails, the seat has the namespace, if there is one.
func (s *Stage) seat(ctx context.Context, at place, container, name string) (play.Seat, error) {
	seats, err := s.seats(ctx, at, []occupant{{container, name}})
	return seats[0], err
}

// seats makes namespaces at a place, and attaches them in one call. If it fails, the seats have the namespaces that there are. It
// returns the first error.
func (s *Stage) seats(ctx context.Context, at place, all []occupant) ([]play.Seat, error) {
	seats, wanted := make([]play.Seat, len(all)), make([]heddle.AttachRequest, len(all))
	for i, one := range all {
		n, err := at.holder.New()
		if err != nil {
			return seats, heddle.Wrap(heddle.CrowdFailed, "make network namespace of", one.container, err, "call as root; see fs.mount-max and user.max_net_namespaces")
		}
		seats[i].Namespace = n
		wanted[i] = heddle.AttachRequest{Network: s.options.Network.Name, ID: idOf(one.container), Netns: n.Path(), Name: one.name, Owner: owner}
	}
	results, err := at.Agent.AttachBatch(ctx, wanted)
	if err != nil {
		if heddle.KindOf(err) == heddle.Unreachable || heddle.KindOf(err) == heddle.Timeout { // some may be attached
			s.record(at, wanted)
		}
		return seats, err
	}
	var first error
	for i, one := range all {
		var failed error
		if results[i].Error != nil {
			failed = results[i].Error
		}
		if !errors.Is(failed, heddle.EndpointDiffers.Sentinel()) { // otherwise it is another crowd's
			s.record(at, wanted[i:i+1])
		}
		if failed == nil {
			failed = s.settle(&seats[i], *results[i].Reply, one)
		}
		first = cmp.Or(first, failed)
	}
	return seats, first
}

// record notes endpoints that are to be detached at the end.
func (s *Stage) record(at place, all []heddle.AttachRequest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range all {
		s.all[q.ID] = at
	}
}

// settle gives a seat what its attachment says.
func (s *Stage) settle(seat *play.Seat, made heddle.AttachReply, of occupant) (err error) {
	seat.Resolvers = made.Resolvers
	if of.name != "" && len(made.Search) > 0 {
		seat.Name = of.name + "." + made.Search[0]
	}
	*seat, err = s.admit(*seat, made.Endpoint, of.container)
	return err
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
