package stage

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/play"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/door/client"
)

// Attend attaches what other parts of the crowd find this one by, and has them find it. All that is here must be attached before. The group is
// to be closed before Clear.
func (s *Stage) Attend(ctx context.Context, of machine.Meeting, gone func(machine.Part)) (*machine.Group, error) {
	name := of.Name(s.options.Part)
	self, err := s.seat(ctx, s.places[0], name, name)
	if err != nil {
		return nil, err
	}
	if self.Name == "" {
		return nil, heddle.Errorf(heddle.CrowdFailed, "find other parts of the crowd on network", s.options.Network.Name, "the agent answers for no names there",
			"start heddled without '--resolver none'")
	}
	var at []net.Listener
	for _, a := range self.Addrs {
		l, err := self.Namespace.Listen(netip.AddrPortFrom(a, machine.Port))
		if err != nil {
			for _, l := range at {
				l.Close()
			}
			return nil, heddle.Wrap(heddle.CrowdFailed, "listen for other parts of the crowd at", a.String(), err, "see the kernel's message")
		}
		at = append(at, l)
	}
	dial := func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
		return self.Namespace.Connect(ctx, "tcp", to, func(netip.AddrPort) {})
	}
	find := func(ctx context.Context) ([]machine.Found, error) {
		return Parts(ctx, s.places[0].Agent, s.options.Network.Name, s.options.Part, of, self.Addrs)
	}
	return machine.Open(machine.Options{Meeting: of, Part: s.options.Part, Roster: s.roster(), Find: find, Dial: dial, Gone: gone}, at...), nil
}

// Parts lists the other parts of a crowd that are on a network of this host. If another crowd is there, too, or this part is there already, at
// other addresses than its own, that is an error.
func Parts(ctx context.Context, agent *client.Client, network string, p machine.Part, of machine.Meeting, own []netip.Addr) (all []machine.Found, err error) {
	known, err := agent.Names(ctx, []string{"network=" + network})
	if err != nil {
		return nil, err
	}
	for _, e := range known {
		if slices.ContainsFunc(e.Addrs, func(a netip.Addr) bool { return slices.Contains(own, a) }) {
			continue
		}
		if why := of.Conflict(p, e.Endpoint.Container); why != "" {
			return nil, heddle.Errorf(heddle.EndpointDiffers, "play crowd on network", network, why+" (host "+e.Host+")",
				"wait for its end ('heddle crowd status' there), give all parts the same scenario and --begin and each another number, or choose another network")
		}
		for number := 1; number <= p.Of; number++ {
			if part := (machine.Part{Number: number, Of: p.Of}); e.Endpoint.Container == of.Name(part) && !e.Alias {
				all = append(all, machine.Found{Part: part, Host: e.Host, Addrs: e.Addrs})
			}
		}
	}
	return all, nil
}

// roster says who is in this part, and where.
func (s *Stage) roster() machine.Roster {
	r := machine.Roster{Users: map[int][]netip.Addr{}, Services: map[string]machine.Place{}}
	for i, u := range s.users {
		if s.options.Part.Has(i + 1) {
			r.Users[i+1] = u.Addrs
		}
	}
	for name, seat := range s.Services {
		r.Services[name] = machine.Place{Addrs: seat.Addrs, Name: seat.Name}
	}
	return r
}

// Meet takes in who is in other parts: services here answer them, and users here find them. Then all hosts know all names of services.
func (s *Stage) Meet(ctx context.Context, others []*machine.Peer) error {
	seats := make([]play.Seat, s.options.Users)
	for _, p := range others {
		r := p.Roster()
		for user, addrs := range r.Users {
			if user >= 1 && user <= len(seats) && p.Part.Has(user) && len(addrs) > 0 {
				seats[user-1] = play.Seat{Addrs: addrs, Far: p}
				s.guests.Admit(addrs...)
			}
		}
		for i, name := range scenario.Sorted(s.options.Services) {
			if at, is := r.Services[name]; is && p.Part.Has(i+1) && len(at.Addrs) > 0 {
				s.Services[name] = play.Seat{Addrs: at.Addrs, Name: at.Name, Far: p}
			}
		}
	}
	if len(s.Services) < len(s.options.Services) {
		return errors.New("another part has not told of all its services")
	}
	s.mu.Lock()
	for i, seat := range seats {
		if seat.Far != nil {
			s.users[i] = seat
		}
	}
	s.mu.Unlock()
	for i, u := range s.Users() {
		if u.Addrs == nil {
			return heddle.Errorf(heddle.CrowdFailed, "find on network "+s.options.Network.Name, userName(i+1), "its part has not told where it is", "report it")
		}
	}
	return s.awaitNames(ctx)
}
