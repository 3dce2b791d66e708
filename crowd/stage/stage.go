// Package stage gives each user of a crowd, and each service, a network namespace and an address, by an agent that
// attaches them as it attaches everybody.
package stage

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/capture"
	"github.com/heddle-network/heddle/crowd/engine"
	"github.com/heddle-network/heddle/crowd/link"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/play"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/service"
)

// owner is who the endpoints of a crowd belong to.
const owner = "crowd"

// Options of a stage.
type Options struct {
	// Hosts have the users in turn, and the services. User 1 is on the first one.
	Hosts []Host
	// Network is one that is there, on all hosts.
	Network heddle.Network
	// Engine makes each user's container, on the only host; with nil, a user is a network namespace.
	Engine *engine.Engine
	// Services say what answers for each; Connections is how many each that is a program must bear at once.
	Services    map[string]scenario.Server
	Connections map[string]int64
	// Nice is the niceness of programs, also of one that starts again while this program goes ahead.
	Nice int
	// Users is how many there are at first.
	Users int
	// Part has those of the users and services that are made here. All others are a part's on another machine.
	Part machine.Part
	// Persona is that of a user, from 1, and Links are those of the personas that have one. Seed is that of the links' decisions. Late is told how much
	// later than due each frame passed a link.
	Persona func(user int) string
	Links   map[string]scenario.Link
	Seed    uint64
	Late    func(time.Duration)
	// Capture has the users' packets; nil has none. Clear closes it.
	Capture *capture.Capture
	// Ended is told that a program of a service has ended, and how, while the crowd plays.
	Ended func(service, how string)
	// Attached is called now and then with how many users there are.
	Attached func(int)
}

// Stage is where a crowd plays: its seats on one network. More, Fewer and Clear are not called at once.
type Stage struct {
	Services map[string]play.Seat
	// Links are between users and the network. Clear closes them, unless they are closed.
	Links link.Links
	// Took is how long it took until all were attached.
	Took time.Duration

	options Options
	guests  service.Guests
	servers map[string]server
	places  []place

	mu    sync.Mutex
	users []play.Seat // the first one that of user 1
	all   map[heddle.EndpointID]place
	links map[string]scenario.Link // as they are now, by persona
}

// Set attaches users and services to a network that is there, and gives users their links. If it fails, or the context
// ends, nothing is left.
func Set(ctx context.Context, o Options) (*Stage, error) {
	s := &Stage{Services: map[string]play.Seat{}, servers: map[string]server{}, Links: link.Links{Late: o.Late}, options: o,
		all: map[heddle.EndpointID]place{}, links: maps.Clone(o.Links)}
	begun := time.Now()
	err := s.hold()
	if err == nil {
		err = s.serve(ctx)
	}
	if err == nil && s.options.Part.IsAll() { // otherwise those of other parts may not be there yet
		err = s.awaitNames(ctx)
	}
	if err == nil {
		s.users, err = s.attach(ctx, 1, o.Users)
	}
	s.Took = time.Since(begun)
	if err == nil {
		err = s.capture(1, s.users)
	}
	if err == nil {
		err = s.startPrograms(ctx)
	}
	if err == nil {
		err = s.link(ctx, 1, s.users)
	}
	if err != nil {
		return nil, errors.Join(err, s.Clear(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// serve attaches the services, and starts them.
func (s *Stage) serve(ctx context.Context) (err error) {
	for i, name := range scenario.Sorted(s.options.Services) {
		if !s.options.Part.Has(i + 1) {
			continue
		}
		seat, err := s.seat(ctx, s.places[s.placeOf(i+1)], s.serviceID(name), "crowd-"+name)
		if err != nil {
			return err
		}
		s.Services[name] = seat
		if s.options.Services[name].By != "" {
			continue
		}
		server := &service.Server{Guests: &s.guests}
		for _, a := range seat.Addrs {
			err := server.Serve(func() (net.Listener, error) { return seat.Namespace.Listen(netip.AddrPortFrom(a, service.Port)) })
			if err != nil {
				server.Close()
				return heddle.Wrap(heddle.CrowdFailed, "start service", name, err, "see the kernel's message")
			}
		}
		s.servers[name] = server
	}
	if names, has := s.Services[scenario.Names]; has && len(names.Resolvers) == 0 { // before everybody comes, which takes a while
		return heddle.Errorf(heddle.CrowdFailed, "start service", scenario.Names, "network "+s.options.Network.Name+" has no name servers that it could ask",
			"take "+scenario.Names+" out of the scenario, or choose a network whose agent answers for names")
	}
	return nil
}

// Clear ends the services, detaches everybody, and lets go of the namespaces. Users that cannot be detached now are
// removed by the agent after their namespace has ended. It returns the first error of any.
//
// The kernel removes the devices of many namespaces that end together in one go, which costs a small part of what it costs
// to remove one after the other. So namespaces end first, unless devices are on a NIC: the agent has to find those, and
// a connection whose last packets were lost keeps its namespace and device for minutes, where nobody finds them.
func (s *Stage) Clear(ctx context.Context) (first error) {
	for _, server := range s.servers {
		server.Close()
	}
	s.Links.Close()
	s.options.Capture.Close()
	if s.options.Network.Parent == "" {
		s.leave()
	}
	var numbers []int
	for i := range s.users {
		numbers = append(numbers, i+1)
	}
	first = s.endUsers(ctx, numbers)
	first = cmp.Or(first, s.detach(ctx, maps.Clone(s.all)))
	s.leave()
	return first
}

// eachOf calls a function for each number below another one, a few at a time, until one fails or the context ends. It
// returns the first error.
func eachOf(ctx context.Context, count int, do func(int) error) error {
	group, going := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.NumCPU())
	for i := range count {
		if going.Err() != nil {
			break
		}
		group.Go(func() error { return do(i) })
	}
	return cmp.Or(group.Wait(), ctx.Err())
}
