package main

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/lab"
)

// rig is a lab of two hosts with endpoints in every mode under test, made
// through the same agent call as everybody's.
//
//	host1: net-M: a1 a2 …   ──switch──   host2: net-M: b1 …
//	same-host pairs a(2i-1) -> a(2i); pairs across a(2i-1) -> b(i)
type rig struct {
	lab     *lab.Lab
	agents  [2]*client.Client
	pairs   int
	columns []bench.Column
	say     func(string)
}

// portOf is the first port of a pair's far server; the near one's follow. No two
// servers of a lab host share a port: some are published on the host, some
// listen there.
func portOf(mode, pair int) uint16 {
	return uint16(10000 + mode*4000 + pair*2*bench.PortsPerPair)
}

// newRig makes the lab and its endpoints. The lab of the name must not exist.
func newRig(ctx context.Context, name string, modes []string, pairs int, bridgeNF string, say func(string)) (*rig, error) {
	say("making two lab hosts")
	l, err := lab.Up(ctx, lab.Options{Name: name, Hosts: 2, Sysctls: bridgeNFSysctls(bridgeNF), Progress: func(string) {}})
	if err != nil {
		return nil, err
	}
	r := &rig{lab: l, pairs: pairs, say: say}
	for i := range r.agents {
		r.agents[i] = client.New(l.Hosts[i].Socket)
	}
	for i, mode := range modes {
		if err := r.addMode(ctx, i, mode); err != nil {
			r.close(context.WithoutCancel(ctx))
			return nil, err
		}
	}
	return r, nil
}

// bridgeNFSysctls say whether frames within a bridge pass the hosts' IP firewall
// too; without br_netfilter there is nothing to say.
func bridgeNFSysctls(value string) map[string]string {
	if value == "" {
		return nil
	}
	return map[string]string{"net.bridge.bridge-nf-call-iptables": value, "net.bridge.bridge-nf-call-ip6tables": value}
}

func (r *rig) close(ctx context.Context) error { return r.lab.Down(ctx) }

// addMode makes the mode's network on both hosts and its two columns.
func (r *rig) addMode(ctx context.Context, number int, mode string) error {
	r.say("connecting containers in mode " + mode)
	for host := range r.agents {
		if _, _, err := r.agents[host].CreateNetwork(ctx, r.network(number, host, mode), false); err != nil {
			return err
		}
	}
	if err := r.linkHosts(ctx, number, mode); err != nil {
		return err
	}
	same := bench.Column{Mode: mode, Span: bench.SameHost, Notes: map[string]string{}}
	across := bench.Column{Mode: mode, Span: bench.Across, Notes: map[string]string{}}
	if mode == "bridge" {
		across.Notes["way"] = "masqueraded by the first host, published port on the second"
	}
	for i := range r.pairs {
		client, err := r.container(ctx, 0, number, mode, 2*i, false)
		if err != nil {
			return err
		}
		near, err := r.container(ctx, 0, number, mode, 2*i+1, false)
		if err != nil {
			return err
		}
		far, err := r.container(ctx, 1, number, mode, i, mode == "bridge")
		if err != nil {
			return err
		}
		base := portOf(number, i)
		same.Pairs = append(same.Pairs, bench.Pair{Client: client, Server: near, PortBase: base + bench.PortsPerPair})
		across.Pairs = append(across.Pairs, bench.Pair{Client: client, Server: far, PortBase: base})
	}
	r.columns = append(r.columns, same, across)
	return nil
}

func (r *rig) network(number, host int, mode string) heddle.Network {
	n := heddle.Network{Name: "bench-" + mode, Mode: mode}
	if mode != "host" {
		n.Subnets = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(200 + number), byte(host), 0}), 24),
			netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0xfd, 1: 0x99, 2: byte(200 + number), 3: byte(host)}), 64)}
	}
	return n
}

// linkHosts tells each host where the other's routed containers are, as the
// router between them would.
func (r *rig) linkHosts(ctx context.Context, number int, mode string) error {
	if mode != "routed" {
		return nil
	}
	for host := range r.agents {
		other := 1 - host
		for _, s := range r.network(number, other, mode).Subnets {
			via := r.lab.Hosts[other].Addr4
			if s.Addr().Is6() {
				via = r.lab.Hosts[other].Addr6
			}
			cmd, err := r.lab.Hosts[host].Command(ctx, "ip", "route", "add", s.String(), "via", via.String())
			if err != nil {
				return err
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				return heddle.Wrap(heddle.BenchFailed, "route between lab hosts to", s.String(), fmt.Errorf("%w: %s", err, out), "'heddle lab down' and try again")
			}
		}
	}
	return nil
}

// container makes a namespace on a host, attaches it, and returns it as a place
// for programs. In mode host the place is the lab host itself.
func (r *rig) container(ctx context.Context, host, number int, mode string, i int, publish bool) (bench.Place, error) {
	h := r.lab.Hosts[host]
	id := heddle.EndpointID{Container: fmt.Sprintf("%s-%d", mode, i), IfName: "eth0"}
	place := bench.Place{Name: h.Name + "/" + id.Container, Addr: h.Addr4, Addr6: h.Addr6, Command: inNetns(h.Netns)}
	request := heddle.AttachRequest{Network: "bench-" + mode, ID: id, Owner: "bench"}
	if mode != "host" {
		request.Netns = "/run/netns/" + id.Container
		if err := makeNamespace(ctx, h, id.Container); err != nil {
			return place, err
		}
		place.Command = inNetns(fmt.Sprintf("/proc/%d/root%s", h.Pid, request.Netns))
	}
	if publish {
		request.Ports = publishedPorts(portOf(number, i))
	}
	reply, err := r.agents[host].Attach(ctx, request)
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

func publishedPorts(base uint16) (all []heddle.PortMapping) {
	for p := base; p < base+bench.PortsPerPair; p++ {
		for _, protocol := range []string{"tcp", "udp"} {
			all = append(all, heddle.PortMapping{HostPort: p, ContainerPort: p, Protocol: protocol})
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
