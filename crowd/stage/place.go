package stage

import (
	"context"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
)

// Host is where users and services are.
type Host struct {
	Agent *client.Client
	// Lab is the lab host; nil is the host of this program.
	Lab *lab.Host
}

// gone reports whether it is a lab host that has ended.
func (h Host) gone() bool { return h.Lab != nil && !h.Lab.Alive() }

// place is a host, and what holds the namespaces there.
type place struct {
	Host
	holder *socket.Holder
}

// hold begins to hold namespaces on each host.
func (s *Stage) hold() error {
	for _, h := range s.options.Hosts {
		holder, err := h.holder()
		if err != nil {
			return heddle.Wrap(heddle.CrowdFailed, "make network namespaces for", "a crowd", err, "call as root; in a lab, see whether its hosts run ('heddle lab list')")
		}
		s.places = append(s.places, place{h, holder})
	}
	return nil
}

// holder holds the host's namespaces, where its agent finds them.
func (h Host) holder() (*socket.Holder, error) {
	if h.Lab == nil {
		return socket.NewHolder()
	}
	return socket.NewHolderIn(h.Lab.Mounts())
}

// Gone returns why nobody can play on: one of the hosts is a lab host that has ended. It is nil if all are there.
func Gone(hosts []Host) error {
	for _, h := range hosts {
		if h.gone() {
			return heddle.Errorf(heddle.CrowdFailed, "play crowd on lab host", h.Lab.Name, "the host has ended", "leave the lab alone while the crowd plays")
		}
	}
	return nil
}

// AwaitGone waits until one of the hosts is gone, or until the context ends, and returns Gone.
func AwaitGone(ctx context.Context, hosts []Host) error {
	for Gone(hosts) == nil && ctx.Err() == nil {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return Gone(hosts)
}

// placeOf is the number of a user's place, or of a service's; both are counted from 1, places from 0.
func (s *Stage) placeOf(number int) int { return (number - 1) % len(s.places) }
