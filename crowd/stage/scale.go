package stage

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/link"
	"github.com/heddle-network/heddle/crowd/play"
	"github.com/heddle-network/heddle/crowd/socket"
)

// Users are the seats of the users, the first one that of user 1.
func (s *Stage) Users() []play.Seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.users)
}

// More attaches users, and gives them their links, until there are so many. It returns the seats of the new ones. If it fails, or
// the context ends, nothing is left of them, and the others stay.
func (s *Stage) More(ctx context.Context, users int) ([]play.Seat, error) {
	s.mu.Lock()
	first, before := len(s.users)+1, maps.Clone(s.links)
	s.mu.Unlock()
	seats, err := s.attach(ctx, first, users)
	if err == nil {
		err = s.capture(first, seats)
	}
	if err == nil {
		err = s.link(ctx, first, seats)
	}
	if err != nil {
		return nil, errors.Join(err, s.remove(context.WithoutCancel(ctx), first, seats))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range seats { // their persona's link may have become another one meanwhile
		persona := s.options.Persona(first + i)
		if as, has := s.links[persona]; has && as != before[persona] {
			s.Links.Change(as, s.options.Seed, first+i)
		}
	}
	s.users = append(s.users, seats...)
	return seats, nil
}

// Fewer takes away the users above a number, who do nothing any more. It lets go of their namespaces, also with an error:
// that of users who could not be detached. Clear tries that again, and the agent removes them.
func (s *Stage) Fewer(ctx context.Context, users int) error {
	s.mu.Lock()
	seats := slices.Clone(s.users[users:])
	s.users = s.users[:users]
	s.mu.Unlock()
	return s.remove(ctx, users+1, seats)
}

// remove ends and detaches users, from the first one's number on. What comes first has the reason that Clear has.
func (s *Stage) remove(ctx context.Context, first int, seats []play.Seat) error {
	var numbers []int
	ids := map[heddle.EndpointID]place{}
	var namespaces []socket.Namespace
	for i, seat := range seats {
		s.guests.Dismiss(seat.Addrs...)
		numbers = append(numbers, first+i)
		if seat.Namespace != (socket.Namespace{}) {
			namespaces = append(namespaces, seat.Namespace)
			_ = link.EndOrphans(seat.Namespace) // otherwise some end later
		}
		s.mu.Lock()
		id := idOf(userName(first + i))
		if at, is := s.all[id]; is {
			ids[id] = at
		}
		s.mu.Unlock()
	}
	for _, server := range s.servers {
		server.Sweep()
	}
	s.Links.Take(numbers...)
	s.options.Capture.Take(numbers...)
	if s.options.Network.Parent == "" {
		return errors.Join(socket.Drop(namespaces...), s.endUsers(ctx, numbers), s.detach(ctx, ids))
	}
	return errors.Join(s.endUsers(ctx, numbers), s.detach(ctx, ids), socket.Drop(namespaces...))
}
