package ports

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/service"
)

// OfVPCs implements service.Ports with several agents: the host's own, which is that of VPC "", and those of VPCs. The name of a port's
// network says whose it is.
type OfVPCs map[string]Ports

// of returns the ports of the network's VPC, and its name there.
func (all OfVPCs) of(network string) (p Ports, name string, err error) {
	vpc, name := heddle.SplitVPC(network)
	p, known := all[vpc]
	if !known {
		return p, "", heddle.Errorf(heddle.NICNotGranted, "make port of NIC", network, "the configuration of the NIC service has no VPC "+heddle.Clip(vpc), "add it to the file of 'heddle nic serve'")
	}
	return p, name, nil
}

// Make implements service.Ports.
func (all OfVPCs) Make(ctx context.Context, machine string, o nic.Order, multiQueue bool) (service.Port, error) {
	p, name, err := all.of(o.Network)
	if err != nil {
		return service.Port{}, err
	}
	o.Network = name
	return p.Make(ctx, machine, o, multiQueue)
}

// Open implements service.Ports.
func (all OfVPCs) Open(port service.Port, queues int) ([]*os.File, error) {
	p, _, err := all.of(port.Card.Network)
	if err != nil {
		return nil, err
	}
	return p.Open(port, queues)
}

// Keep implements service.Ports.
func (all OfVPCs) Keep(ctx context.Context, port service.Port) error {
	p, _, err := all.of(port.Card.Network)
	if err != nil {
		return err
	}
	return p.Keep(ctx, port)
}

// Assign implements service.Ports.
func (all OfVPCs) Assign(ctx context.Context, port service.Port, sets int) (service.Port, error) {
	p, _, err := all.of(port.Card.Network)
	if err != nil {
		return service.Port{}, err
	}
	return p.Assign(ctx, port, sets)
}

// Unassign implements service.Ports.
func (all OfVPCs) Unassign(ctx context.Context, port service.Port, a netip.Addr) (service.Port, error) {
	p, _, err := all.of(port.Card.Network)
	if err != nil {
		return service.Port{}, err
	}
	return p.Unassign(ctx, port, a)
}

// Limit implements service.Ports.
func (all OfVPCs) Limit(ctx context.Context, port service.Port, asked, limits heddle.RateLimits) error {
	p, _, err := all.of(port.Card.Network)
	if err != nil {
		return err
	}
	return p.Limit(ctx, port, asked, limits)
}

// Remove implements service.Ports.
func (all OfVPCs) Remove(ctx context.Context, port service.Port) error {
	p, _, err := all.of(port.Card.Network)
	if err != nil {
		return err
	}
	return p.Remove(ctx, port)
}

// briefly is how long is waited for the agent of a VPC that a request is not about: it may hang.
const briefly = time.Second

// List implements service.Ports.
func (all OfVPCs) List(ctx context.Context, vpcs ...string) (found []service.Port, unknown service.Unknown) {
	names := all.names()
	ports, errs := make([][]service.Port, len(names)), make([]error, len(names))
	var asked sync.WaitGroup
	for i, vpc := range names {
		asked.Go(func() {
			limited, cancel := ctx, context.CancelFunc(func() {})
			if !slices.Contains(vpcs, vpc) {
				limited, cancel = context.WithTimeout(ctx, briefly)
			}
			defer cancel()
			ports[i], errs[i] = all[vpc].List(limited)
		})
	}
	asked.Wait()
	unknown = service.Unknown{}
	for i, vpc := range names {
		found = append(found, ports[i]...)
		if errs[i] != nil {
			unknown[vpc] = ofVPC(vpc, errs[i])
		}
	}
	return found, unknown
}

// Watches implements service.Ports.
func (all OfVPCs) Watches() (watches []service.Watch) {
	for vpc, p := range all {
		watches = append(watches, func(ctx context.Context, begun func(), changed func(machine string, gone bool)) error {
			return ofVPC(vpc, p.Watch(ctx, begun, changed))
		})
	}
	return watches
}

// There implements service.Ports.
func (all OfVPCs) There(tap string) (bool, error) {
	for _, vpc := range all.names() {
		if there, err := all[vpc].There(tap); there || err != nil {
			return there, ofVPC(vpc, err)
		}
	}
	return false, nil
}

func (all OfVPCs) names() []string { return slices.Sorted(maps.Keys(all)) }

// ofVPC says which VPC an error is about.
func ofVPC(vpc string, err error) error {
	var known *heddle.Error
	if vpc == "" || err == nil || errors.As(err, &known) {
		return err
	}
	return fmt.Errorf("VPC %s: %w", vpc, err)
}
