// Package rig makes what a crowd plays on: lab hosts with a network in each mode under test, one after the other.
package rig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/stage"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
)

// MaxHosts is how many hosts a rig may have. No source: a guess.
const MaxHosts = 16

// Rig is a lab.
type Rig struct {
	Options
	lab   *lab.Lab
	hosts []stage.Host
}

// Options of a rig.
type Options struct {
	// Name is the lab's.
	Name string
	// Modes are those under test.
	Modes []string
	// Users is how many addresses a network needs, beside those of services.
	Users int
	// Ahead is by how much this program is less nice while it plays.
	Ahead int
	// Hosts is how many hosts there are. With several, all modes span hosts.
	Hosts int
}

// New makes the lab. A lab of the name must not exist.
func New(ctx context.Context, o Options) (*Rig, error) {
	t := lab.Topology{Name: o.Name, Bound: true, Progress: func(string) {}}
	for i := range o.Hosts {
		t.Hosts = append(t.Hosts, lab.Node{Name: fmt.Sprintf("host%d", i+1), Spare: 1})
	}
	if slices.Contains(o.Modes, "overlay") {
		t.Store = lab.StoreEmbedded
	}
	l, err := lab.Raise(ctx, t)
	if err != nil {
		return nil, err
	}
	r := &Rig{Options: o, lab: l}
	for _, h := range l.Hosts {
		r.hosts = append(r.hosts, stage.Host{Agent: client.New(h.Socket), Lab: h})
	}
	if err := r.parentsUp(ctx); err != nil {
		return nil, errors.Join(err, r.Close(context.WithoutCancel(ctx)))
	}
	return r, nil
}

// parent is a NIC of each lab host that carries nothing else.
var parent = lab.NICName(1)

func (r *Rig) parentsUp(ctx context.Context) error {
	for _, h := range r.lab.Hosts {
		cmd, err := h.Command(ctx, "ip", "link", "set", parent, "up")
		if err != nil {
			return err
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return heddle.Wrap(heddle.LabFailed, "bring up NIC of "+h.Name, parent, fmt.Errorf("%w: %s", err, out), "install iproute2")
		}
	}
	return nil
}

// Close removes the lab.
func (r *Rig) Close(ctx context.Context) error { return r.lab.Down(ctx) }

// Play makes a new network of a mode, has a function play on it, and removes the network. If a host ends meanwhile, so does the
// function's context.
func (r *Rig) Play(ctx context.Context, mode string, play func(context.Context, heddle.Network, []stage.Host) error) (err error) {
	first := r.hosts[0].Agent
	n, _, err := first.CreateNetwork(ctx, r.network(mode), false)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, first.DeleteNetwork(context.WithoutCancel(ctx), n.Name))
	}()
	for _, h := range r.hosts[1:] {
		if err := awaitNetwork(ctx, h.Agent, n); err != nil {
			return err
		}
	}
	return r.guarded(ctx, func(ctx context.Context) error { return play(ctx, n, r.hosts) })
}

// guarded has a function play until it ends, or a host does.
func (r *Rig) guarded(ctx context.Context, play func(context.Context) error) error {
	leave, err := r.lab.Beside(r.Ahead)
	if err != nil {
		return err
	}
	defer leave()
	ctx, end := context.WithCancel(ctx)
	gone := make(chan error)
	go func() {
		err := stage.AwaitGone(ctx, r.hosts)
		leave() // who removes the lab waits for that
		end()
		gone <- err
	}()
	err = play(ctx)
	end()
	return cmp.Or(<-gone, err) // the first is why the function was broken off, or could not do what it was to
}

// knownTime is how long it may take until another host has a new network. No source: a guess.
const knownTime = 30 * time.Second

// awaitNetwork waits until another host's agent has a network.
func awaitNetwork(ctx context.Context, agent *client.Client, n heddle.Network) error {
	ctx, cancel := context.WithTimeout(ctx, knownTime)
	defer cancel()
	for {
		there, err := agent.Network(ctx, n.Name)
		if err == nil && there.ID == n.ID {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return heddle.Wrap(heddle.CrowdFailed, "find network on the lab's other hosts", n.Name, errors.Join(err, ctx.Err()), "report it")
		}
	}
}

// A network has room for the users, and for those that the crowd may be given while it plays: 65,536 addresses at least.
const (
	roomBits  = 16
	roomTimes = 4
)

// network is that of a mode: with room for all users, in both families.
func (r *Rig) network(mode string) heddle.Network {
	n := heddle.Network{Name: "crowd-" + mode, Mode: mode}
	bits := roomBits
	for 1<<(32-bits) < roomTimes*r.Users {
		bits--
	}
	n.Subnets = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 128}), bits), netip.MustParsePrefix("fd99:128::/64")}
	if mode == "macvlan" || mode == "ipvlan" {
		n.Parent = parent
	}
	return n
}
