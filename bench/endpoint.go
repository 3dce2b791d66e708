// Package bench measures container networks side by side with well-known tools: sockperf, iperf3
// and ping.
//
// A Matrix has columns and rows. A column is a mode on one host, or across two. The caller has made
// its endpoints, and the endpoints of all columns exist at the same time. A row is a probe, a
// message size and a number of pairs. Every cell runs once per round, in a random order, so that a
// machine that becomes slower affects all modes alike. The most important result is the ratio of
// two columns within one round.
//
//	columns  --\                      /--> samples.jsonl (every raw reading)
//	probes   ---> Matrix --> Run ----+---> report.json   (medians, ratios)
//	rounds   --/                      \--> a table for people
//
// The package does not know how containers are made: it is given Endpoints.
package bench

import (
	"context"
	"fmt"
	"net/netip"
	"os/exec"
	"time"

	"github.com/heddle-network/heddle"
)

// Endpoint is one end of the measured traffic, where a program can run: the namespaces of
// a container, or the host. A program there must see the files of this process, since
// some programs are given a temporary file.
type Endpoint struct {
	Name string
	// Command returns a command, not yet started, that will run there. It must
	// become the program (exec, not fork) for signals to reach it, as "ip netns
	// exec" and "nsenter" do.
	Command func(ctx context.Context, argv ...string) (*exec.Cmd, error)
	// Addr is the IPv4 address at which others reach the endpoint: that of the
	// container, or of its host where ports are published. Addr6 may be unset.
	Addr, Addr6 netip.Addr
	// Far is set if programs run on another machine. Then the processes here only forward
	// signals. They take SIGTSTP and forward it as SIGSTOP, which they could not catch.
	Far bool
}

// PortsPerPair is how many ports from Pair.PortBase a server uses,
// both TCP and UDP: several programs wait for their turn at the same time.
const PortsPerPair = 16

// Pair is a client and a server of one mode. If Server.Addr is its host's, the server's ports
// must be published under the same numbers. Servers that share a network namespace, as in mode
// host, need separate port ranges.
type Pair struct {
	Client, Server Endpoint
	PortBase       uint16
	// Step is the distance between the ports of the pair; zero means 1. Pairs that share
	// one server endpoint have consecutive PortBases, and their Step is the number of such
	// pairs. So the programs of one run get consecutive ports.
	Step uint16
}

func (p Pair) step() uint16 { return max(1, p.Step) }

func (p Pair) port(slot uint16) uint16 { return p.PortBase + slot*p.step() }

// family is the option of netperf for the address family of the target.
func (p Pair) family() string {
	if p.Server.Addr.IsValid() {
		return "-4"
	}
	return "-6"
}

// The spans of a column.
const (
	SameHost = "same-host"
	Across   = "across"
)

// The modes that the others are compared with.
const (
	Control   = "host"
	Reference = "bridge"
)

// Native is the wire between two hosts without agent and firewall: mode host without heddle.
const Native = "native"

// The modes that span hosts: ours, and the layout of Docker's overlay driver, which callers make
// by hand for comparison.
const (
	Overlay      = "overlay"
	DockerLayout = "docker-overlay"
	// DockerLayoutNF is the same with bridge-nf-call-iptables=1.
	DockerLayoutNF = "docker-overlay-nf"
)

// Stack is the suffix of a mode's name if its packets take the host's network stack, not
// the fast path: "overlay-stack".
const Stack = "-stack"

// Column is one mode over one span, with its pairs; all columns exist during
// the whole run.
type Column struct {
	Mode string
	Span string
	// Wire names the wire that the column crosses, see Cell.
	Wire  string
	Pairs []Pair
	// Attach attaches one more container, returns how long that took, and detaches the
	// container. It is nil where nothing can be attached.
	Attach func(context.Context) (time.Duration, error)
	// Processors reads the CPU time of the virtual machines that the column is in; nil for
	// this machine's.
	Processors Processors
	// Notes are facts that explain the figures ("mtu": "1450").
	Notes map[string]string
}

func (c Column) name() string { return columnName(c.Mode, c.Span, c.Wire) }

func columnName(mode, span, wire string) string {
	if wire == "" {
		return mode + "/" + span
	}
	return mode + "/" + span + "/" + wire
}

func (c Column) check() error {
	bad := func(cause, remedy string) error {
		return heddle.Errorf(heddle.BadArgument, "add column", c.name(), cause, remedy)
	}
	if c.Mode == "" || (c.Span != SameHost && c.Span != Across) {
		return bad("it has no mode, or an unknown span", "name a mode, and the span "+SameHost+" or "+Across)
	}
	if len(c.Pairs) == 0 {
		return bad("it has no pairs", "make at least one pair")
	}
	for _, p := range c.Pairs {
		switch {
		case p.Client.Command == nil || p.Server.Command == nil:
			return bad("a place has no Command", "set Command in all places")
		case !p.Server.Addr.IsValid() && !p.Server.Addr6.IsValid():
			return bad("a server has no address", "set Addr or Addr6 in all servers")
		case p.PortBase == 0 || int(p.PortBase)+PortsPerPair*int(p.step()) > 65536:
			return bad("a server has no ports", fmt.Sprintf("leave room for %d ports from PortBase", PortsPerPair))
		}
	}
	return nil
}

// target is the address that clients use; IPv4 where there is one.
func (p Pair) target() string {
	if p.Server.Addr.IsValid() {
		return p.Server.Addr.String()
	}
	return p.Server.Addr6.String()
}

// anyAddress is the address on which the server listens: its own address may differ from the
// published one.
func (p Pair) anyAddress() string {
	if p.Server.Addr.IsValid() {
		return "0.0.0.0"
	}
	return "::"
}
