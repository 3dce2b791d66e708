package stage

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/link"
	"github.com/heddle-network/heddle/crowd/play"
)

// port is the interface that users and services have.
const port = "eth0"

// link gives users their links.
func (s *Stage) link(ctx context.Context) error {
	var linked atomic.Bool
	err := eachOf(ctx, len(s.Users), func(i int) error {
		as, has := s.options.Links[s.options.Persona(i+1)]
		if !has {
			return nil
		}
		linked.Store(true)
		err := s.Links.Put(s.Users[i].Namespace, port, as, s.options.Seed, i+1)
		if err != nil {
			return heddle.Wrap(heddle.CrowdFailed, "give link to", userName(i+1), err, "see the kernel's message")
		}
		return nil
	})
	if err != nil || !linked.Load() {
		return err
	}
	for name, seat := range s.Services {
		if err := link.ForgetOrphans(seat.Namespace); err != nil {
			return heddle.Wrap(heddle.CrowdFailed, "give links to users of service", name, err, "see the kernel's message")
		}
	}
	return nil
}

func userName(number int) string { return fmt.Sprintf("crowd-user-%d", number) }

// seat makes a namespace and attaches it. Services have names.
func (s *Stage) seat(ctx context.Context, container, name string) (play.Seat, error) {
	n, err := s.holder.New()
	if err != nil {
		return play.Seat{}, heddle.Wrap(heddle.CrowdFailed, "make network namespace of", container, err,
			"call as root; see fs.mount-max and user.max_net_namespaces")
	}
	id := heddle.EndpointID{Container: container, IfName: port}
	reply, err := s.options.Agent.Attach(ctx, heddle.AttachRequest{Network: s.options.Network.Name, ID: id, Netns: n.Path(), Name: name, Owner: owner})
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
	s.guests.Admit(seat.Addrs...)
	if len(seat.Addrs) == 0 {
		return seat, heddle.Errorf(heddle.CrowdFailed, "attach user", container,
			"network "+s.options.Network.Name+" gives no addresses of its own", "choose a network of another mode")
	}
	return seat, nil
}
