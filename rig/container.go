package rig

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/lab"
)

// addMode makes the mode's columns in all labs, or none of them.
func (r *Rig) addMode(ctx context.Context, number int, mode string) error {
	var columns []bench.Column
	for _, s := range r.labs {
		more, err := r.addColumns(ctx, s, number, mode)
		if err != nil {
			return err
		}
		columns = append(columns, more...)
	}
	r.Columns = append(r.Columns, columns...)
	return nil
}

// addColumns makes the mode's network on both hosts, its containers and its columns.
func (r *Rig) addColumns(ctx context.Context, s *testLab, number int, mode string) ([]bench.Column, error) {
	if err := r.addNetwork(ctx, s, number, mode); err != nil {
		return nil, err
	}
	same := bench.Column{Mode: mode, Span: bench.SameHost, Notes: map[string]string{}}
	across := bench.Column{Mode: mode, Span: bench.Across, Wire: s.wire.Name, Notes: map[string]string{}}
	addPathNotes(same, across)
	if r.plugs(mode) {
		note := pluggedNote(mode)
		same.Notes["way"], across.Notes["way"] = note, note
	}
	same.Processors, across.Processors = processors(s.hosts(mode, bench.SameHost)), processors(s.hosts(mode, bench.Across))
	if words := s.machineNote(); words != "" {
		same.Notes["machine"], across.Notes["machine"] = words, words
	}
	far := r.hasSpan(bench.Across)
	var clients, nears, fars []bench.Endpoint
	for i := range r.containers() {
		for _, x := range []struct {
			all     *[]bench.Endpoint
			host, i int
			wanted  bool
		}{{&clients, 0, 2 * i, true}, {&nears, 0, 2*i + 1, s.sameHost}, {&fars, 1, i, far}} {
			if !x.wanted {
				continue
			}
			end, err := r.container(ctx, s, x.host, number, mode, x.i)
			if err != nil {
				return nil, err
			}
			*x.all = append(*x.all, end)
		}
	}
	for i := range r.Pairs {
		at := min(i, r.containers()-1)
		if s.sameHost {
			same.Pairs = append(same.Pairs, r.pair(number, i, false, clients[at], nears[at]))
		}
		if far {
			across.Pairs = append(across.Pairs, r.pair(number, i, true, clients[at], fars[at]))
		}
	}
	if s.sameHost && canAttach(mode) && !r.plugs(mode) {
		var err error
		if same.Attach, err = r.attachOn(ctx, s, mode); err != nil {
			return nil, err
		}
	}
	return r.withPairs(ctx, s, same, across)
}

// withPairs returns the columns that have pairs. For an overlay, it first waits until the
// pairs reach each other.
func (r *Rig) withPairs(ctx context.Context, s *testLab, columns ...bench.Column) (all []bench.Column, err error) {
	for _, c := range columns {
		for _, pair := range c.Pairs {
			if baseMode(c.Mode) == bench.Overlay && c.Span == bench.Across && err == nil {
				err = s.waitForTunnel(ctx, pair)
			}
		}
		if len(c.Pairs) > 0 {
			all = append(all, c)
		}
	}
	return all, err
}

func (r *Rig) pair(mode, i int, far bool, client, server bench.Endpoint) bench.Pair {
	base, step := r.ports(mode, i, far)
	return bench.Pair{Client: client, Server: server, PortBase: uint16(base), Step: uint16(step)}
}

// container makes a namespace on a host, attaches it, and returns it as an endpoint
// for programs. In mode host the endpoint is the lab host itself.
func (r *Rig) container(ctx context.Context, s *testLab, host, number int, mode string, i int) (bench.Endpoint, error) {
	if mode == bench.Native {
		h := s.plainHosts[host]
		return bench.Endpoint{Name: h.Name, Addr: h.Addr4, Addr6: h.Addr6, Command: inHost(h), Far: h.Machine != ""}, nil
	}
	if IsDocker(mode) {
		return r.dockerContainer(ctx, s, host, number, mode, i)
	}
	h := s.lab.Hosts[host]
	id := heddle.EndpointID{Container: fmt.Sprintf("%s-%d", mode, i), IfName: "eth0"}
	end := bench.Endpoint{Name: h.Name + "/" + id.Container, Addr: h.Addr4, Addr6: h.Addr6, Command: inHost(h), Far: h.Machine != ""}
	request := heddle.AttachRequest{Network: "bench-" + mode, ID: id, Owner: "bench"}
	if mode != bench.Control {
		request.Netns = "/run/netns/" + id.Container
		if err := r.makeNamespace(ctx, h, id.Container); err != nil {
			return end, err
		}
		end.Command = inContainer(h, request.Netns)
	}
	publish := baseMode(mode) == bench.Reference && host == 1
	if publish {
		request.Ports = r.publishedPorts(number, i)
	}
	reply, err := s.agents[host].Attach(ctx, request)
	if err != nil {
		return end, err
	}
	if addrs := reply.Endpoint.Addrs; len(addrs) == 2 && !publish {
		end.Addr, end.Addr6 = addrs[0].Addr(), addrs[1].Addr()
	}
	return end, nil
}

// inHost runs programs in a lab host's network.
func inHost(h *lab.Host) func(context.Context, ...string) (*exec.Cmd, error) {
	if h.Machine != "" {
		return h.Command
	}
	return inNetns(h.Netns)
}

// inContainer runs programs in a network namespace of a lab host.
func inContainer(h *lab.Host, netns string) func(context.Context, ...string) (*exec.Cmd, error) {
	if h.Machine == "" {
		return inNetns(fmt.Sprintf("/proc/%d/root%s", h.Pid, netns))
	}
	return func(ctx context.Context, argv ...string) (*exec.Cmd, error) {
		return h.Command(ctx, append([]string{"nsenter", "--net=" + netns, "--"}, argv...)...)
	}
}

// inNetns runs programs in a network namespace, and in no other namespace of the host. The
// process is replaced by the program, so that the program gets the probes' signals.
func inNetns(path string) func(context.Context, ...string) (*exec.Cmd, error) {
	return func(ctx context.Context, argv ...string) (*exec.Cmd, error) {
		return exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + path, "--"}, argv...)...), nil
	}
}

// publishedPorts are the ports of a far server, or of all that share its container.
func (r *Rig) publishedPorts(mode, i int) (all []heddle.PortMapping) {
	base, _ := r.ports(mode, i, true)
	count := bench.PortsPerPair
	if r.Shared {
		count *= r.Pairs
	}
	for p := base; p < base+count; p++ {
		for _, protocol := range []string{"tcp", "udp"} {
			all = append(all, heddle.PortMapping{HostPort: uint16(p), ContainerPort: uint16(p), Protocol: protocol})
		}
	}
	return all
}

// makeNamespace makes a namespace with the same congestion control as all others: a new
// one has the machine's, not its lab host's.
func (r *Rig) makeNamespace(ctx context.Context, h *lab.Host, name string) error {
	set := "/proc/sys/" + strings.ReplaceAll(congestionSysctl, ".", "/")
	for _, argv := range [][]string{{"ip", "netns", "add", name}, {"ip", "netns", "exec", name, "sh", "-c", `echo "$0" > ` + set, r.Congestion}} {
		cmd, err := h.Command(ctx, argv...)
		if err != nil {
			return err
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			return heddle.Wrap(heddle.BenchFailed, "make namespace", h.Name+"/"+name, fmt.Errorf("%w: %s", err, out),
				"install iproute2, and name a congestion control that this kernel has")
		}
	}
	return nil
}
