package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
)

// rig is a lab of two hosts for each wire, with endpoints in every mode under
// test, made through the same agent call as everybody's. The first lab also has
// the pairs on one host, which cross no wire.
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
	wire   bench.Wire
	// near says that the pairs on one host are here.
	near bool
}

type rigOptions struct {
	name  string
	modes []string
	// insist makes a mode that is not available an error.
	insist bool
	wires  []bench.Wire
	pairs  int
	// shared pairs have one client and one server container.
	shared   bool
	bridgeNF string
	say      func(string)
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
	o := lab.Options{Name: r.name, Hosts: 2, Sysctls: bridgeNFSysctls(r.bridgeNF), Cut: wire.Name == wireCut, Rate: wire.Rate, Progress: func(string) {}}
	if number > 0 {
		o.Name += "-" + wireLabel(wire)
	}
	for _, mode := range r.modes {
		if mode == modeDirect {
			o.NICs = 2 * r.containers()
		}
	}
	l, err := lab.Up(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &stage{lab: l, wire: wire, near: number == 0}
	s.wire.MTU = l.Options.MTU
	for i := range s.agents {
		s.agents[i] = client.New(l.Hosts[i].Socket)
	}
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

// bridgeNFSysctls say whether frames within a bridge pass the hosts' IP firewall
// too; without br_netfilter there is nothing to say.
func bridgeNFSysctls(value string) map[string]string {
	if value == "" {
		return nil
	}
	return map[string]string{"net.bridge.bridge-nf-call-iptables": value, "net.bridge.bridge-nf-call-ip6tables": value}
}

// addMode makes the mode's columns in all labs, or none of them.
func (r *rig) addMode(ctx context.Context, number int, mode string) error {
	var columns []bench.Column
	for _, s := range r.stages {
		more, err := r.addTo(ctx, s, number, mode)
		if err != nil {
			return err
		}
		columns = append(columns, more...)
	}
	r.columns = append(r.columns, columns...)
	return nil
}

// addTo makes the mode's network on both hosts, and its columns.
func (r *rig) addTo(ctx context.Context, s *stage, number int, mode string) ([]bench.Column, error) {
	for host := range s.agents {
		if _, _, err := s.agents[host].CreateNetwork(ctx, r.network(s, number, host, mode), false); err != nil {
			return nil, err
		}
	}
	if err := r.linkHosts(ctx, s, number, mode); err != nil {
		return nil, err
	}
	same := bench.Column{Mode: mode, Span: bench.SameHost, Notes: map[string]string{}}
	across := bench.Column{Mode: mode, Span: bench.Across, Wire: s.wire.Name, Notes: map[string]string{}}
	way(same, across)
	var clients, nears, fars []bench.Place
	for i := range r.containers() {
		for _, x := range []struct {
			all     *[]bench.Place
			host, i int
			wanted  bool
		}{{&clients, 0, 2 * i, true}, {&nears, 0, 2*i + 1, s.near}, {&fars, 1, i, true}} {
			if !x.wanted {
				continue
			}
			place, err := r.container(ctx, s, x.host, number, mode, x.i)
			if err != nil {
				return nil, err
			}
			*x.all = append(*x.all, place)
		}
	}
	for i := range r.pairs {
		at := min(i, r.containers()-1)
		if s.near {
			same.Pairs = append(same.Pairs, r.pair(number, i, false, clients[at], nears[at]))
		}
		across.Pairs = append(across.Pairs, r.pair(number, i, true, clients[at], fars[at]))
	}
	if s.near {
		return []bench.Column{same, across}, nil
	}
	return []bench.Column{across}, nil
}

func (r *rig) pair(mode, i int, far bool, client, server bench.Place) bench.Pair {
	base, step := r.ports(mode, i, far)
	return bench.Pair{Client: client, Server: server, PortBase: uint16(base), Step: uint16(step)}
}

// container makes a namespace on a host, attaches it, and returns it as a place
// for programs. In mode host the place is the lab host itself.
func (r *rig) container(ctx context.Context, s *stage, host, number int, mode string, i int) (bench.Place, error) {
	h := s.lab.Hosts[host]
	id := heddle.EndpointID{Container: fmt.Sprintf("%s-%d", mode, i), IfName: "eth0"}
	place := bench.Place{Name: h.Name + "/" + id.Container, Addr: h.Addr4, Addr6: h.Addr6, Command: inNetns(h.Netns)}
	request := heddle.AttachRequest{Network: "bench-" + mode, ID: id, Owner: "bench"}
	if mode != bench.Control {
		request.Netns = "/run/netns/" + id.Container
		if err := makeNamespace(ctx, h, id.Container); err != nil {
			return place, err
		}
		place.Command = inNetns(fmt.Sprintf("/proc/%d/root%s", h.Pid, request.Netns))
	}
	publish := mode == bench.Reference && host == 1
	if publish {
		request.Ports = r.published(number, i)
	}
	reply, err := s.agents[host].Attach(ctx, request)
	if err != nil {
		return place, err
	}
	if addrs := reply.Endpoint.Addrs; len(addrs) == 2 && !publish {
		place.Addr, place.Addr6 = addrs[0].Addr(), addrs[1].Addr()
	}
	return place, nil
}

// inNetns runs programs in a network namespace and nothing else of the host: it
// becomes the program, which so gets the probes' signals.
func inNetns(path string) func(context.Context, ...string) (*exec.Cmd, error) {
	return func(ctx context.Context, argv ...string) (*exec.Cmd, error) {
		return exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + path, "--"}, argv...)...), nil
	}
}

// published are the ports of a far server, or of all that share its container.
func (r *rig) published(mode, i int) (all []heddle.PortMapping) {
	base, _ := r.ports(mode, i, true)
	count := bench.PortsPerPair
	if r.shared {
		count *= r.pairs
	}
	for p := base; p < base+count; p++ {
		for _, protocol := range []string{"tcp", "udp"} {
			all = append(all, heddle.PortMapping{HostPort: uint16(p), ContainerPort: uint16(p), Protocol: protocol})
		}
	}
	return all
}

func makeNamespace(ctx context.Context, h *lab.Host, name string) error {
	cmd, err := h.Command(ctx, "ip", "netns", "add", name)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return heddle.Wrap(heddle.BenchFailed, "make namespace", h.Name+"/"+name, fmt.Errorf("%w: %s", err, out), "install iproute2")
	}
	return nil
}

// labName keeps benchmarks that run at the same time apart.
func labName(pid int) string { return "bench-" + strconv.Itoa(pid) }
