package runtimes_test

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// tellGone: a network that was deleted, while containers are on it in Podman, comes back by the command
// that the error names.
func (p podman) tellGone() {
	p.do("network create --driver heddle --internal --subnet 10.79.0.0/24 --ip-range 10.79.0.64/26 --opt mtu=1400 gone")
	p.run("a", "--network gone --ip 10.79.0.77")
	p.do("stop -t 0 a")
	if err := p.DeleteNetwork(ctx, "gone"); err != nil {
		p.t.Fatal(err)
	}
	out, err := cell.TrySh("podman start a")
	_, command, told := strings.Cut(out, "create it again: '")
	command, _, _ = strings.Cut(command, "'")
	if err == nil || !told {
		p.t.Fatalf("a network that is gone: %v %s", err, out)
	}
	cell.Sh(p.t, "%s", command)
	p.do("start a")
	p.netns("a")
	again, err := p.Network(ctx, "gone")
	if err != nil || !again.Internal || again.MTU != 1400 || len(again.Ranges) != 1 || addrs(p.endpointOn("gone", p.id("a")))[0].String() != "10.79.0.77" {
		p.t.Errorf("made again: %+v %v", again, err)
	}
	p.do("rm -f -t 0 a")
	p.do("network rm gone")
}

// tellCreate: Podman's network is one of ours, existing or new; what heddle has not is refused.
func (p podman) tellCreate() {
	network := func(name string) (n struct {
		Subnets []struct{ Subnet netip.Prefix }
		Options map[string]string
	}) {
		all := []any{&n}
		if err := json.Unmarshal([]byte(p.do("network inspect %s", name)), &all); err != nil {
			p.t.Fatal(err)
		}
		return n
	}
	cell.Sh(p.t, "ip link add spare0 type veth peer name spare1")
	defer cell.Sh(p.t, "ip link delete spare0")
	if _, _, err := p.CreateNetwork(ctx, heddle.Network{Name: "bare", Mode: "direct", Options: map[string]string{"nics": "spare0"}}, false); err != nil {
		p.t.Fatal(err)
	}
	p.do("network create --driver heddle bare")
	p.do("run --rm --network bare box /bin/ip link show eth0")
	p.do("network rm bare")
	p.do("network rm blue")
	p.do("network create --driver heddle blue")
	ours, err := p.Network(ctx, "blue")
	if err != nil {
		p.t.Fatal(err)
	}
	again := network("blue")
	if len(again.Subnets) != 2 || !slices.Contains(ours.Subnets, again.Subnets[0].Subnet) || again.Options["heddle.id"] != ours.ID || again.Options["mode"] != "bridge" {
		p.t.Errorf("podman has %+v, we %+v", again, ours)
	}
	p.do("network create --driver heddle --opt heddle.id=%s other", ours.ID)
	p.run("a", "--network other --ip 10.20.0.77")
	if e := p.endpointOn("blue", p.id("a")); addrs(e)[0].String() != "10.20.0.77" {
		p.t.Errorf("%+v", e)
	}
	p.clear()
	p.do("network rm other")
	host, _, err := p.CreateNetwork(ctx, heddle.Network{Name: "plain", Mode: "host"}, false)
	if err != nil {
		p.t.Fatal(err)
	}
	for flags, words := range map[string]string{
		"--subnet 10.77.0.0/24 blue2 --opt mode=weave": "HDL-", "--ipam-driver host-local --subnet 10.77.0.0/24 x": "leave --ipam-driver out",
		"--subnet 10.77.0.0/24 --route 10.78.0.0/24,10.77.0.9 x": "leave --route out", "--opt mode=host x": "--network host",
		"--subnet 10.21.0.0/16 x": "HDL-", "--opt isolate=true x": "isolate",
		"--internal --opt heddle.id=" + ours.ID + " x": "internal (has false, asked true)", "--ipv6 --subnet 10.77.0.0/24 x": "give an IPv6 subnet as well",
		"--opt heddle.id=" + host.ID + " x": "--network host",
	} {
		out, err := cell.TrySh("podman network create --driver heddle %s", flags)
		if err == nil || !strings.Contains(out, words) {
			p.t.Errorf("%s: %v %s, want %s", flags, err, out, words)
		}
	}
	p.do("network create --driver heddle --ipv6 x")
	if both := network("x"); len(both.Subnets) != 2 {
		p.t.Errorf("--ipv6: %+v", both)
	}
	p.do("network rm x")
	p.tellGone()
}
