// Package rig is where the benchmark runs: labs of two hosts, with containers in every
// mode under test. It needs a lab, a client of its agents, and the places that a
// benchmark measures between; whoever asks for it has chosen modes and wires.
package rig

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
)

// Rig is a lab of two hosts for each wire, with endpoints in every mode under
// test, made through the same agent call as everybody's. The first lab also has
// the pairs on one host, which cross no wire. Docker's layout, which is none of
// our modes, has two hosts of its own on the same switch.
//
//	host1: net-M: a1 a2 …   ──switch──   host2: net-M: b1 …
//	same-host pairs a(2i-1) -> a(2i); pairs across a(2i-1) -> b(i)
type Rig struct {
	Options
	// Columns are the columns of all modes, in all labs.
	Columns []bench.Column
	// LeftOut names the modes that are not available on this machine, and why.
	LeftOut []string
	stages  []*stage
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

// Options of a rig.
type Options struct {
	// Name is the first lab's name, and the beginning of the others' names.
	Name string
	// Modes are those under test, in the order of the report.
	Modes []string
	// Insist makes a mode that is not available an error.
	Insist bool
	Wires  []bench.Wire
	// MTUs are those of the networks that cross hosts by VXLAN, by wire; without
	// one they have what is usual for them.
	MTUs map[string]int
	// Spans are those wanted.
	Spans []string
	// Pairs of a client and a server, in each mode and span.
	Pairs int
	// Shared pairs have one client and one server container.
	Shared bool
	// BridgeNF is bridge-nf-call-iptables of the hosts; "" leaves it.
	BridgeNF string
	// Machines is the kernel of virtual machines that the hosts shall be.
	Machines string
	// Congestion is the congestion control of all places.
	Congestion string
	// Say is told each step.
	Say func(string)
}

// containers is the number of clients, and of servers on one host.
func (o Options) containers() int {
	if o.Shared {
		return 1
	}
	return o.Pairs
}

// firstPort is where the servers' ports of all modes begin: below those that
// clients are given (ip_local_port_range).
const firstPort = 10000

// ports of a pair's server. No two servers of a lab host share a port: some are
// published on the host, some listen there. Pairs that share a server have
// consecutive ports.
func (o Options) ports(mode, pair int, far bool) (base, step int) {
	base = firstPort + mode*o.Pairs*2*bench.PortsPerPair
	if !far {
		base += o.Pairs * bench.PortsPerPair
	}
	if o.Shared {
		return base + pair, o.Pairs
	}
	return base + pair*bench.PortsPerPair, 1
}

// New makes the labs and their endpoints. Labs of the name must not exist.
func New(ctx context.Context, o Options) (*Rig, error) {
	if most, _ := o.ports(len(o.Modes), 0, true); most > 65536 {
		return nil, heddle.Errorf(heddle.BadArgument, "read flag", "--pairs",
			fmt.Sprintf("%d pairs in %d modes need more ports than there are", o.Pairs, len(o.Modes)), "choose fewer pairs")
	}
	r := &Rig{Options: o}
	err := r.raise(ctx)
	if err != nil {
		return nil, errors.Join(err, r.Close(context.WithoutCancel(ctx)))
	}
	return r, nil
}

func (r *Rig) raise(ctx context.Context) error {
	for i, wire := range r.Wires {
		r.Say("making two lab hosts, wire " + wireLabel(wire))
		s, err := r.newStage(ctx, i, wire)
		if err != nil {
			return err
		}
		r.stages = append(r.stages, s)
	}
	for i, mode := range r.Modes {
		r.Say("connecting containers in mode " + mode)
		err := r.addMode(ctx, i, mode)
		var known *heddle.Error
		absent := errors.As(err, &known) && (known.Code == heddle.UnknownMode || known.Code == heddle.NotOnKernel)
		switch {
		case absent && !r.Insist:
			r.LeftOut = append(r.LeftOut, "mode "+mode+": "+known.Error())
		case err != nil:
			return err
		}
	}
	return nil
}

func (r *Rig) newStage(ctx context.Context, number int, wire bench.Wire) (*stage, error) {
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

// Close removes the labs.
func (r *Rig) Close(ctx context.Context) error {
	var all []error
	for _, s := range r.stages {
		all = append(all, s.lab.Down(ctx))
	}
	return errors.Join(all...)
}

// UsedWires are the wires with what was found at their ends.
func (r *Rig) UsedWires() (all []bench.Wire) {
	for _, s := range r.stages {
		all = append(all, s.wire)
	}
	return all
}

// sysctls of the lab hosts: how TCP sends, and whether frames within a bridge pass
// the hosts' IP firewall too; without br_netfilter there is nothing to say of that.
func (o Options) sysctls() map[string]string {
	all := map[string]string{congestionSysctl: o.Congestion}
	if o.BridgeNF != "" {
		all["net.bridge.bridge-nf-call-iptables"], all["net.bridge.bridge-nf-call-ip6tables"] = o.BridgeNF, o.BridgeNF
	}
	return all
}

const congestionSysctl = "net.ipv4.tcp_congestion_control"

// LabName keeps benchmarks that run at the same time apart.
func LabName(pid int) string { return "bench-" + strconv.Itoa(pid) }
