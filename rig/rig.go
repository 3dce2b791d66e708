// Package rig makes what the benchmark runs on: labs of two hosts, with containers in every
// mode under test. The caller chooses modes and wires.
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
// test, made with the public API of the agents. The first lab also has the pairs on one
// host, which cross no wire. Docker's layout, which is not a mode of ours, has two other
// hosts on the same switch.
//
//	host1: net-M: a1 a2 …   ──switch──   host2: net-M: b1 …
//	same-host pairs a(2i-1) -> a(2i); pairs across a(2i-1) -> b(i)
type Rig struct {
	Options
	// Columns are the columns of all modes, in all labs.
	Columns []bench.Column
	// LeftOut names the modes that are not available on this machine, and why.
	LeftOut []string
	labs    []*testLab
}

// testLab is one lab with its wire.
type testLab struct {
	lab    *lab.Lab
	agents [2]*client.Client
	// plainHosts have no agent; they exist if a mode needs them.
	plainHosts []*lab.Host
	wire       bench.Wire
	// sameHost says that this lab has the pairs on one host.
	sameHost bool
}

// Options of a rig.
type Options struct {
	// Name is the first lab's name, and the beginning of the others' names.
	Name string
	// Modes are those under test, in the order of the report.
	Modes []string
	// RequireModes makes a mode that is not available an error.
	RequireModes bool
	Wires        []bench.Wire
	// MTUs are the MTUs of the networks that use VXLAN, by wire; without an entry they have
	// their default.
	MTUs map[string]int
	// Spans are the spans to measure.
	Spans []string
	// Pairs of a client and a server, in each mode and span.
	Pairs int
	// Shared pairs have one client and one server container.
	Shared bool
	// BridgeNF is bridge-nf-call-iptables of the hosts; "" leaves it.
	BridgeNF string
	// Machines is the kernel of virtual machines that the hosts shall be.
	Machines string
	// Plug are modes whose NICs are plugged into these machines while they run, of PluggedModes.
	Plug []string
	// ICount gives these machines clocks that count instructions (lab.Node).
	ICount bool
	// Congestion is the congestion control of all endpoints.
	Congestion string
	// Progress is called at each step.
	Progress func(string)
}

// containers is the number of clients, and of servers on one host.
func (o Options) containers() int {
	if o.Shared {
		return 1
	}
	return o.Pairs
}

// ownNICs is the number of containers on the first host, each of which has a NIC of its own in mode direct.
func (o Options) ownNICs() int { return 2 * o.containers() }

// firstPort is the first of the servers' ports in all modes. It is below the ports that
// clients get (ip_local_port_range).
const firstPort = 10000

// ports returns the ports of a pair's server. No two servers of a lab host share a port,
// since some are published on the host, and some listen there. Pairs that share a server
// have consecutive ports.
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
	if n := o.pluggedNICs(); n > lab.MaxSlots {
		return nil, heddle.Errorf(heddle.BadArgument, "read flag", "--pairs",
			fmt.Sprintf("%d pairs need %d plugged NICs on a host, and a machine takes %d", o.Pairs, n, lab.MaxSlots), "choose fewer pairs")
	}
	r := &Rig{Options: o}
	err := r.build(ctx)
	if err != nil {
		return nil, errors.Join(err, r.Close(context.WithoutCancel(ctx)))
	}
	return r, nil
}

func (r *Rig) build(ctx context.Context) error {
	for i, wire := range r.Wires {
		r.Progress("making two lab hosts, wire " + wireLabel(wire))
		s, err := r.newLab(ctx, i, wire)
		if err != nil {
			return err
		}
		r.labs = append(r.labs, s)
	}
	for i, mode := range r.Modes {
		r.Progress("connecting containers in mode " + mode)
		err := r.addMode(ctx, i, mode)
		var known *heddle.Error
		absent := errors.As(err, &known) && (known.Code == heddle.UnknownMode || known.Code == heddle.NotOnKernel)
		switch {
		case absent && !r.RequireModes:
			r.LeftOut = append(r.LeftOut, "mode "+mode+": "+known.Error())
		case err != nil:
			return err
		}
	}
	return nil
}

func (r *Rig) newLab(ctx context.Context, number int, wire bench.Wire) (*testLab, error) {
	top := r.topology(number, wire)
	if len(r.Plug) > 0 {
		p, err := newPlugging(r.Options)
		if err != nil {
			return nil, err
		}
		defer p.close() // all have read their files when the lab is up
		if err := p.write(p.addTo(&top)); err != nil {
			return nil, err
		}
	}
	l, err := lab.Raise(ctx, top)
	if err != nil {
		return nil, err
	}
	s := &testLab{lab: l, wire: wire, sameHost: number == 0 && r.hasSpan(bench.SameHost)}
	s.wire.MTU = l.Topology.MTU
	for i := range s.agents {
		s.agents[i] = client.New(l.Hosts[i].Socket)
	}
	s.plainHosts = l.Hosts[len(s.agents):]
	s.wire.Offloads, err = l.Hosts[0].Offloads()
	if err != nil {
		return nil, errors.Join(err, l.Down(context.WithoutCancel(ctx)))
	}
	return s, nil
}

// Close removes the labs.
func (r *Rig) Close(ctx context.Context) error {
	var all []error
	for _, s := range r.labs {
		all = append(all, s.lab.Down(ctx))
	}
	return errors.Join(all...)
}

// UsedWires returns the wires with the offloads found at their ends.
func (r *Rig) UsedWires() (all []bench.Wire) {
	for _, s := range r.labs {
		all = append(all, s.wire)
	}
	return all
}

// sysctls are the settings of the lab hosts: the congestion control, and whether frames in
// a bridge pass the IP firewall. Without br_netfilter there is no such setting.
func (o Options) sysctls() map[string]string {
	all := map[string]string{congestionSysctl: o.Congestion}
	if o.BridgeNF != "" {
		all["net.bridge.bridge-nf-call-iptables"], all["net.bridge.bridge-nf-call-ip6tables"] = o.BridgeNF, o.BridgeNF
	}
	return all
}

const congestionSysctl = "net.ipv4.tcp_congestion_control"

// LabName is the name of a lab of the process, different from those of other processes.
func LabName(pid int) string { return "bench-" + strconv.Itoa(pid) }
