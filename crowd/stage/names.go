package stage

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/names"
)

// knownTime is how long it may take until all hosts have the names of services. No source: a guess.
const knownTime = 30 * time.Second

// awaitNames waits until all hosts have the names of services, which may be on others.
func (s *Stage) awaitNames(ctx context.Context) error {
	if len(s.places) == 1 && s.options.Part.IsAll() {
		return nil
	}
	var wanted []heddle.EndpointID
	for name, seat := range s.Services {
		if seat.Name != "" {
			wanted = append(wanted, idOf(s.serviceID(name)))
		}
	}
	waits, cancel := context.WithTimeout(ctx, knownTime)
	defer cancel()
	for _, p := range s.places {
		err := awaitNamesAt(waits, p.Agent, s.options.Network.Name, wanted)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return heddle.Wrap(heddle.CrowdFailed, "find names of services on all hosts of network", s.options.Network.Name, err, "see 'heddle name list' there")
		}
	}
	return nil
}

// awaitNamesAt waits until one host has the names.
func awaitNamesAt(ctx context.Context, agent *client.Client, network string, wanted []heddle.EndpointID) error {
	for {
		all, err := agent.Names(ctx, []string{"network=" + network})
		if err == nil && !slices.ContainsFunc(wanted, func(id heddle.EndpointID) bool {
			return !slices.ContainsFunc(all, func(e names.Entry) bool { return e.Endpoint == id })
		}) {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}
