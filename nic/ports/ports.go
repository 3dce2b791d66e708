// Package ports has the hypervisor's agent make the switch ports behind NICs: each is an endpoint with a TAP device, on one
// of the agent's networks. The agent's ledger is the only record of them.
package ports

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/frames"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/nic/service"
	"github.com/heddle-network/heddle/vpc"
)

// Ports are those of one agent.
type Ports struct {
	agent *client.Client
	// vpc is whose agent it is, netns the file of its network namespace; both are "" for the host's own.
	vpc, netns string
}

// New returns the ports of the host's agent.
func New(agent *client.Client) Ports { return Ports{agent: agent} }

// NewVPC returns the ports of the agent of a VPC, whose network namespace has that file. In their cards networks are named VPC/NETWORK.
func NewVPC(agent *client.Client, vpc, netns string) Ports { return Ports{agent, vpc, netns} }

// inside calls a function in the agent's network namespace.
func (p Ports) inside(f func() error) error {
	if p.netns == "" {
		return f()
	}
	return vpc.Do(p.netns, f)
}

// undoTime limits the removal of a port that could not be made.
const undoTime = 10 * time.Second

// newID is the name of a new port. It says nothing of the machine: the port may move to another one.
func newID() heddle.EndpointID {
	digits := make([]byte, 8)
	rand.Read(digits) // never fails
	return heddle.EndpointID{Container: "nic-" + hex.EncodeToString(digits), IfName: "eth0"}
}

// Make is service.Ports.Make for this agent.
func (p Ports) Make(ctx context.Context, machine string, o nic.Order, multiQueue bool) (service.Port, error) {
	n, err := p.agent.Network(ctx, o.Network)
	if err != nil {
		return service.Port{}, forMachine(err)
	}
	id := newID()
	r, err := p.agent.Attach(ctx, heddle.AttachRequest{Network: o.Network, ID: id, TAP: true, MultiQueue: multiQueue, MAC: o.MAC, IPs: o.IPs, Owner: "nic",
		Labels: map[string]string{LabelMachine: machine, labelToken: o.Token}})
	if err != nil { // no answer may have come in time: a second port of that token must not appear
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
		defer cancel()
		p.agent.Detach(undo, id)
		return service.Port{}, forMachine(err)
	}
	return p.portOf(r.Endpoint, n), nil
}

// There is service.Ports.There for this agent.
func (p Ports) There(tap string) (bool, error) {
	var all []net.Interface
	err := p.inside(func() (err error) {
		all, err = net.Interfaces()
		return err
	})
	if errors.Is(err, fs.ErrNotExist) { // a VPC whose agent has not made its namespace
		return false, nil
	}
	return slices.ContainsFunc(all, func(i net.Interface) bool { return i.Name == tap }), err
}

// forMachine is an error of the agent as a machine may see it: who else has an address is not told.
func forMachine(err error) error {
	var known *heddle.Error
	if !errors.As(err, &known) {
		return err
	}
	switch known.Code {
	case heddle.AddressTaken, heddle.MACTaken:
		return heddle.Errorf(known.Code, "make port of NIC", "", "the address is taken, or is the gateway's", "ask for another one, or leave it out")
	case heddle.AgentDown:
		return heddle.Errorf(heddle.NotPlugged, "make port of NIC", "", "the hypervisor's agent does not answer", "start heddled on the hypervisor, and ask again")
	}
	return err
}

// Open is service.Ports.Open for this agent.
func (p Ports) Open(port service.Port, queues int) ([]*os.File, error) {
	var all []*os.File
	err := p.inside(func() (err error) {
		all, err = frames.OpenQueues(port.TAP, queues)
		return err
	})
	if err != nil {
		return nil, heddle.Wrap(heddle.KernelRefused, "open TAP device", port.TAP, err, "look with 'heddle audit' whether the port is there, and whether another program has it open")
	}
	return all, nil
}

// Keep is service.Ports.Keep for this agent.
func (p Ports) Keep(ctx context.Context, port service.Port) error {
	_, err := p.agent.Label(ctx, port.ID, labelsOf(port))
	return forMachine(err)
}

// Assign is service.Ports.Assign for this agent.
func (p Ports) Assign(ctx context.Context, port service.Port, sets int) (service.Port, error) {
	e, err := p.agent.Assign(ctx, port.ID, sets)
	port.Card.Further = furtherOf(e)
	return port, forMachine(err)
}

// Unassign is service.Ports.Unassign for this agent.
func (p Ports) Unassign(ctx context.Context, port service.Port, a netip.Addr) (service.Port, error) {
	e, err := p.agent.Unassign(ctx, port.ID, a)
	port.Card.Further = furtherOf(e)
	return port, forMachine(err)
}

func furtherOf(e heddle.Endpoint) (all [][]netip.Prefix) {
	for _, s := range e.Further {
		all = append(all, s.Addrs)
	}
	return all
}

// Limit is service.Ports.Limit for this agent. What was asked for is recorded first: killed in between, the service limits the port by it when
// it starts again.
func (p Ports) Limit(ctx context.Context, port service.Port, asked, limits heddle.RateLimits) error {
	if _, err := p.agent.Label(ctx, port.ID, askedLabels(asked)); err != nil {
		return forMachine(err)
	}
	_, _, err := p.agent.SetLimits(ctx, port.ID, heddle.RateLimitChange{In: &limits.In, Out: &limits.Out}, false)
	if err == nil {
		return nil
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	_, undone := p.agent.Label(undo, port.ID, askedLabels(port.Card.Asked))
	return errors.Join(forMachine(err), undone)
}

// Remove is service.Ports.Remove for this agent.
func (p Ports) Remove(ctx context.Context, port service.Port) error {
	_, err := p.agent.Detach(ctx, port.ID)
	return forMachine(err)
}

// List returns all ports, or an error.
func (p Ports) List(ctx context.Context) (all []service.Port, err error) {
	found, err := p.agent.EndpointsBy(ctx, []string{"label=" + LabelMachine})
	if err != nil || len(found) == 0 {
		return nil, forMachine(err)
	}
	networks, err := p.agent.Networks(ctx)
	if err != nil {
		return nil, forMachine(err)
	}
	byID := map[string]heddle.Network{}
	for _, n := range networks {
		byID[n.ID] = n
	}
	for _, e := range found {
		if e.TAP {
			all = append(all, p.portOf(e, byID[e.Network]))
		}
	}
	return all, nil
}

func (p Ports) portOf(e heddle.Endpoint, n heddle.Network) service.Port {
	var gateways []netip.Addr
	if !n.Internal {
		gateways = n.Gateways
	}
	return service.Port{ID: e.ID, Machine: e.Labels[LabelMachine], TAP: e.Port, MultiQueue: e.MultiQueue, Move: moveOf(e.Labels), Card: nic.Card{Token: e.Labels[labelToken],
		Network: heddle.InVPC(p.vpc, e.NetworkName), MAC: e.MAC, Addrs: e.Addrs, Further: furtherOf(e), Gateways: gateways, MTU: e.MTU,
		Asked: askedOf(e.Labels), Limits: e.Limits}}
}
