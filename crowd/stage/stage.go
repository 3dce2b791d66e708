// Package stage gives each user of a crowd, and each service, a network namespace and an address, through the same
// call of an agent as everybody's.
package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/play"
	"github.com/heddle-network/heddle/crowd/service"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/door/client"
)

// owner is who the endpoints of a crowd belong to.
const owner = "crowd"

// Stage is where a crowd plays: its seats on one network.
type Stage struct {
	Users    []play.Seat
	Services map[string]play.Seat
	// Took is how long it took until all were attached.
	Took time.Duration

	agent   *client.Client
	network string
	server  service.Server
	mu      sync.Mutex
	all     []heddle.EndpointID
	spaces  []socket.Namespace
}

// Set attaches users and services to a network that is there. If it fails, or the context ends, nothing is left.
// Attached is called now and then with how many users there are.
func Set(ctx context.Context, agent *client.Client, network string, services []string, users int, attached func(int)) (*Stage, error) {
	s := &Stage{Users: make([]play.Seat, users), Services: map[string]play.Seat{}, agent: agent, network: network}
	begun := time.Now()
	err := s.set(ctx, services, attached)
	s.Took = time.Since(begun)
	if err != nil {
		return nil, errors.Join(err, s.Clear(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Stage) set(ctx context.Context, services []string, attached func(int)) error {
	for _, name := range services {
		seat, err := s.seat(ctx, "crowd-service-"+name, "crowd-"+name)
		if err != nil {
			return err
		}
		for _, a := range seat.Addrs {
			l, err := seat.Namespace.Listen(netip.AddrPortFrom(a, service.Port))
			if err != nil {
				return heddle.Wrap(heddle.CrowdFailed, "start service", name, err, "see the kernel's message")
			}
			s.server.Serve(l)
		}
		s.Services[name] = seat
	}
	count := 0
	return eachOf(ctx, len(s.Users), func(i int) error {
		seat, err := s.seat(ctx, fmt.Sprintf("crowd-user-%d", i+1), "")
		s.mu.Lock()
		defer s.mu.Unlock()
		s.Users[i] = seat
		if count++; err == nil {
			attached(count)
		}
		return err
	})
}

// seat makes a namespace and attaches it. Services have names.
func (s *Stage) seat(ctx context.Context, container, name string) (play.Seat, error) {
	n, err := socket.NewNamespace()
	if err != nil {
		return play.Seat{}, heddle.Wrap(heddle.CrowdFailed, "make network namespace of", container, err,
			"call as root, with room for more open files")
	}
	id := heddle.EndpointID{Container: container, IfName: "eth0"}
	s.mu.Lock()
	s.spaces = append(s.spaces, n)
	s.mu.Unlock()
	reply, err := s.agent.Attach(ctx, heddle.AttachRequest{Network: s.network, ID: id, Netns: n.Path(), Name: name, Owner: owner})
	if !errors.Is(err, heddle.EndpointDiffers.Sentinel()) { // otherwise it is another crowd's
		s.mu.Lock()
		s.all = append(s.all, id)
		s.mu.Unlock()
	}
	if err != nil {
		return play.Seat{}, err
	}
	seat := play.Seat{Namespace: n, Resolvers: reply.Resolvers}
	if name != "" && len(reply.Search) > 0 {
		seat.Name = name + "." + reply.Search[0]
	}
	for _, p := range reply.Endpoint.Addrs {
		seat.Addrs = append(seat.Addrs, p.Addr())
	}
	s.server.Admit(seat.Addrs...)
	if len(seat.Addrs) == 0 {
		return seat, heddle.Errorf(heddle.CrowdFailed, "attach user", container,
			"network "+s.network+" gives no addresses of its own", "choose a network of another mode")
	}
	return seat, nil
}

// Clear ends the services, lets go of the namespaces, and detaches everybody. The kernel removes the links of many
// namespaces that end together in one go, which costs a small part of what it costs to remove one link after the other.
// Users that cannot be detached now are removed by the agent, as their namespace has ended. It returns the first error of
// any.
func (s *Stage) Clear(ctx context.Context) (first error) {
	s.server.Close()
	for _, n := range s.spaces {
		n.Close()
	}
	s.awaitAgent(ctx)
	down := eachOf(ctx, len(s.all), func(i int) error {
		_, err := s.agent.Detach(ctx, s.all[i])
		if errors.Is(err, heddle.AgentDown.Sentinel()) {
			return err // so it is for all others
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if first == nil {
			first = err
		}
		return nil
	})
	if first == nil {
		first = down
	}
	return first
}

// awaitAgent waits a little for an agent that is being restarted.
func (s *Stage) awaitAgent(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		_, err := s.agent.Status(ctx)
		if !errors.Is(err, heddle.AgentDown.Sentinel()) {
			return
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
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
