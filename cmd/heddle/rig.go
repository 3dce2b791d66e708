package main

import (
	"context"
	"errors"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
)

// rig is a lab of two hosts for each wire, with endpoints in every mode under
// test, made through the same agent call as everybody's. The first lab also has
// the pairs on one host, which cross no wire. Docker's layout, which is none of
// our modes, has two hosts of its own on the same switch.
//
//	host1: net-M: a1 a2 …   ──switch──   host2: net-M: b1 …
//	same-host pairs a(2i-1) -> a(2i); pairs across a(2i-1) -> b(i)
type rig struct {
	rigOptions
	stages  []*stage
	columns []bench.Column
	// leftOut names the modes that this machine has not, and why.
	leftOut []string
}

// stage is one lab, with its wire.
type stage struct {
	lab    *lab.Lab
	agents [2]*client.Client
	// bare hosts have no agent; they are there if a mode wants them.
	bare []*lab.Host
	wire bench.Wire
	// near says that the pairs on one host are here.
	near bool
}

type rigOptions struct {
	name  string
	modes []string
	// insist makes a mode that is not available an error.
	insist bool
	wires  []bench.Wire
	// mtus are those of the networks that cross hosts by VXLAN, by wire; without
	// one they have what is usual for them.
	mtus map[string]int
	// spans are those wanted.
	spans []string
	pairs int
	// shared pairs have one client and one server container.
	shared   bool
	bridgeNF string
	// machines is the kernel of virtual machines that the hosts shall be.
	machines string
	// congestion is the congestion control of all places.
	congestion string
	say        func(string)
}

// containers is the number of clients, and of servers on one host.
func (o rigOptions) containers() int {
	if o.shared {
		return 1
	}
	return o.pairs
}

// firstPort is where the servers' ports of all modes begin: below those that
// clients are given (ip_local_port_range).
const firstPort = 10000

// ports of a pair's server. No two servers of a lab host share a port: some are
// published on the host, some listen there. Pairs that share a server have
// consecutive ports.
func (o rigOptions) ports(mode, pair int, far bool) (base, step int) {
	base = firstPort + mode*o.pairs*2*bench.PortsPerPair
	if !far {
		base += o.pairs * bench.PortsPerPair
	}
	if o.shared {
		return base + pair, o.pairs
	}
	return base + pair*bench.PortsPerPair, 1
}

// newRig makes the labs and their endpoints. Labs of the name must not exist.
func newRig(ctx context.Context, o rigOptions) (*rig, error) {
	if most, _ := o.ports(len(o.modes), 0, true); most > 65536 {
		return nil, heddle.Errorf(heddle.BadArgument, "bench with "+strconv.Itoa(len(o.modes))+" modes and pairs", strconv.Itoa(o.pairs), "the servers would need more ports than there are; choose fewer pairs")
	}
	r := &rig{rigOptions: o}
	err := r.raise(ctx)
	if err != nil {
		return nil, errors.Join(err, r.close(context.WithoutCancel(ctx)))
	}
	return r, nil
}

func (r *rig) raise(ctx context.Context) error {
	for i, wire := range r.wires {
		r.say("making two lab hosts, wire " + wireLabel(wire))
		s, err := r.newStage(ctx, i, wire)
		if err != nil {
			return err
		}
		r.stages = append(r.stages, s)
	}
	for i, mode := range r.modes {
		r.say("connecting containers in mode " + mode)
		err := r.addMode(ctx, i, mode)
		var known *heddle.Error
		absent := errors.As(err, &known) && (known.Code == heddle.UnknownMode || known.Code == heddle.NotOnKernel)
		switch {
		case absent && !r.insist:
			r.leftOut = append(r.leftOut, "mode "+mode+": "+known.Error())
		case err != nil:
			return err
		}
	}
	return nil
}

func (r *rig) newStage(ctx context.Context, number int, wire bench.Wire) (*stage, error) {
	l, err := lab.Raise(ctx, r.topology(number, wire))
	if err != nil {
		return nil, err
	}
	s := &stage{lab: l, wire: wire, near: number == 0 && r.wants(bench.SameHost)}
	s.wire.MTU = l.Topology.MTU
	for i := range s.agents {
		s.agents[i] = client.New(l.Hosts[i].Socket)
	}
	s.bare = l.Hosts[len(s.agents):]
	s.wire.Offloads, err = l.Hosts[0].Offloads()
	if err != nil {
		return nil, errors.Join(err, l.Down(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (r *rig) close(ctx context.Context) error {
	var all []error
	for _, s := range r.stages {
		all = append(all, s.lab.Down(ctx))
	}
	return errors.Join(all...)
}

// usedWires are the wires with what was found at their ends.
func (r *rig) usedWires() (all []bench.Wire) {
	for _, s := range r.stages {
		all = append(all, s.wire)
	}
	return all
}

// sysctls of the lab hosts: how TCP sends, and whether frames within a bridge pass
// the hosts' IP firewall too; without br_netfilter there is nothing to say of that.
func (o rigOptions) sysctls() map[string]string {
	all := map[string]string{congestionSysctl: o.congestion}
	if o.bridgeNF != "" {
		all["net.bridge.bridge-nf-call-iptables"], all["net.bridge.bridge-nf-call-ip6tables"] = o.bridgeNF, o.bridgeNF
	}
	return all
}

const congestionSysctl = "net.ipv4.tcp_congestion_control"

// labName keeps benchmarks that run at the same time apart.
func labName(pid int) string { return "bench-" + strconv.Itoa(pid) }
