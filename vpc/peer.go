package vpc

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

// PeeringName is the name, in a VPC, of the network that is VPC peer's.
func PeeringName(peer string) string { return "vpc-" + peer }

// PeerOf returns the VPC whose network it is; "" for a network of a VPC's own.
func PeerOf(n heddle.Network) string {
	if n.Mode != heddle.ModePeering {
		return ""
	}
	return n.Options["peer"]
}

// Agents returns the agent of a VPC.
type Agents func(vpc string) *client.Client

// half is what a peering is in one of its VPCs.
type half struct {
	own, peer string
	agent     *client.Client
	// networks are those of the VPC's own, want is that of the peer's, have what there is of it.
	networks   []heddle.Network
	want, have heddle.Network
}

// Peer has the networks of two VPCs reach each other: what there is of them now. It is repeated when there are others. If it fails, VPCs
// that were not peered before are not; if it is killed, a VPC may have its half, by which nothing passes.
func Peer(ctx context.Context, of Agents, a, b string) error {
	both, err := halves(ctx, of, a, b)
	if err == nil {
		err = tryOut(ctx, both)
	}
	if err != nil {
		return err
	}
	for i, h := range both {
		if err := h.make(ctx); err != nil {
			return errors.Join(err, undo(ctx, both[:i+1]))
		}
	}
	return nil
}

// PeerCommands are what Peer does, as a person could type it.
func PeerCommands(ctx context.Context, of Agents, a, b string) (commands []string, err error) {
	both, err := halves(ctx, of, a, b)
	if err == nil {
		err = tryOut(ctx, both)
	}
	for _, h := range both {
		create := []string{"heddle", "--vpc", h.own, "network", "create", h.want.Name, "--mode", h.want.Mode}
		for _, s := range h.want.Subnets {
			create = append(create, "--subnet", s.String())
		}
		for _, key := range []string{"peer", "subnets"} {
			create = append(create, "--opt", key+"="+h.want.Options[key])
		}
		if h.outdated() {
			commands = append(commands, heddle.CommandLine([]string{"heddle", "--vpc", h.own, "network", "delete", h.want.Name}))
		}
		commands = append(commands, heddle.CommandLine(create))
		for _, n := range h.networks {
			commands = append(commands, heddle.CommandLine([]string{"heddle", "--vpc", h.own, "network", "allow", h.want.Name, n.Name}))
		}
	}
	return commands, err
}

// Unpeer ends a peering. It reports whether one of the VPCs had its half.
func Unpeer(ctx context.Context, of Agents, a, b string) (existed bool, err error) {
	names, err := peered(ctx, of, a, b)
	for own := range names {
		existed = true
		err = errors.Join(err, of(own).DeleteNetwork(ctx, names[own]))
	}
	return existed, err
}

// UnpeerCommands are what Unpeer does, as a person could type it.
func UnpeerCommands(ctx context.Context, of Agents, a, b string) (commands []string, err error) {
	names, err := peered(ctx, of, a, b)
	for own, name := range names {
		commands = append(commands, heddle.CommandLine([]string{"heddle", "--vpc", own, "network", "delete", name}))
	}
	slices.Sort(commands)
	return commands, err
}

// peered returns the names of the networks that are the halves of a peering, by their VPC.
func peered(ctx context.Context, of Agents, a, b string) (map[string]string, error) {
	if err := checkPair(a, b); err != nil {
		return nil, err
	}
	names := map[string]string{}
	for own, peer := range map[string]string{a: b, b: a} {
		all, err := of(own).Networks(ctx)
		if err != nil {
			return nil, Away(own, err, ", or take the other half away alone ('heddle --vpc "+peer+" network delete "+PeeringName(own)+"')")
		}
		if i := slices.IndexFunc(all, func(n heddle.Network) bool { return PeerOf(n) == peer }); i >= 0 {
			names[own] = all[i].Name
		}
	}
	return names, nil
}

func checkPair(a, b string) error {
	if err := errors.Join(heddle.CheckVPCName(a), heddle.CheckVPCName(b)); err != nil {
		return err
	}
	if a == b {
		return heddle.Errorf(heddle.BadArgument, "peer VPC", a, "both are the same VPC", "name two")
	}
	return nil
}

// Away is the error of asking the agent of a VPC: if it does not answer, it says how to start that one. instead is what can be done without.
func Away(vpc string, err error, instead string) error {
	if !errors.Is(err, heddle.AgentDown.Sentinel()) {
		return err
	}
	return heddle.Errorf(heddle.AgentDown, "ask agent of VPC", vpc, heddle.CauseOf(err), "name a VPC that 'heddle vpc list' shows, and start its agent ('systemctl start heddled-vpc@"+vpc+"')"+instead)
}

// halves computes both halves of a peering. It refuses VPCs whose addresses overlap, or that have no networks.
func halves(ctx context.Context, of Agents, a, b string) (both []half, err error) {
	if err := checkPair(a, b); err != nil {
		return nil, err
	}
	both = []half{{own: a, peer: b, agent: of(a)}, {own: b, peer: a, agent: of(b)}}
	for i := range both {
		h := &both[i]
		all, err := h.agent.Networks(ctx)
		if err != nil {
			return nil, Away(h.own, err, "")
		}
		for _, n := range all {
			switch {
			case PeerOf(n) == h.peer:
				h.have = n
			case PeerOf(n) == "" && n.Mode != heddle.ModeGateway && len(n.Subnets) > 0:
				h.networks = append(h.networks, n)
			}
		}
		if len(h.networks) == 0 {
			return nil, heddle.Errorf(heddle.NoNetwork, "peer VPC", h.own, "it has no networks with subnets", "create them first ('heddle --vpc "+h.own+" network create')")
		}
	}
	both[0].want, both[1].want = peering(b, both[1].networks), peering(a, both[0].networks)
	for _, x := range both[0].want.Subnets {
		for _, y := range both[1].want.Subnets {
			if x.Overlaps(y) {
				return nil, heddle.Errorf(heddle.SubnetOverlap, "peer VPCs", a+" and "+b, fmt.Sprintf("%s has networks in %s, and %s in %s", b, x, a, y),
					"peer VPCs whose networks lie in ranges that have nothing in common")
			}
		}
	}
	return both, nil
}

// peering is the network that stands for those of another VPC. Its subnets are the least ranges in which theirs are, so that no other network
// of the VPC gets addresses between them.
func peering(peer string, networks []heddle.Network) heddle.Network {
	var all []netip.Prefix
	for _, n := range networks {
		all = append(all, n.Subnets...)
	}
	slices.SortFunc(all, netip.Prefix.Compare)
	n := heddle.Network{Name: PeeringName(peer), Mode: heddle.ModePeering}
	var exact []string
	for _, p := range all {
		exact = append(exact, p.String())
		i := slices.IndexFunc(n.Subnets, func(o netip.Prefix) bool { return o.Addr().Is4() == p.Addr().Is4() })
		if i < 0 {
			n.Subnets = append(n.Subnets, p)
			continue
		}
		for !n.Subnets[i].Contains(p.Addr()) || n.Subnets[i].Bits() > p.Bits() {
			n.Subnets[i] = netip.PrefixFrom(n.Subnets[i].Addr(), n.Subnets[i].Bits()-1).Masked()
		}
	}
	n.Options = map[string]string{"peer": peer, "subnets": strings.Join(exact, "+")}
	return n
}

// outdated reports whether there is a half with other subnets.
func (h half) outdated() bool {
	return h.have.ID != "" && (h.have.Options["subnets"] != h.want.Options["subnets"] || h.have.Name != h.want.Name)
}

// tryOut has the agents say whether they would make what is missing, before anything is changed.
func tryOut(ctx context.Context, both []half) error {
	for _, h := range both {
		if h.outdated() {
			continue // its name and its range are taken by what it takes the place of
		}
		if _, _, err := h.agent.CreateNetwork(ctx, h.want, true); err != nil {
			return err
		}
	}
	return nil
}

// make makes the half, and lets the VPC's networks talk with the peer's.
func (h half) make(ctx context.Context) error {
	if h.outdated() {
		if err := h.agent.DeleteNetwork(ctx, h.have.Name); err != nil {
			return err
		}
	}
	if _, _, err := h.agent.CreateNetwork(ctx, h.want, false); err != nil {
		return err
	}
	for _, n := range h.networks {
		if err := h.agent.Allow(ctx, h.want.Name, n.Name); err != nil {
			return err
		}
	}
	return nil
}

// undo removes halves that were not there before.
func undo(ctx context.Context, made []half) (err error) {
	for _, h := range made {
		if h.have.ID != "" {
			continue
		}
		if e := h.agent.DeleteNetwork(context.WithoutCancel(ctx), h.want.Name); e != nil && !errors.Is(e, heddle.NoNetwork.Sentinel()) {
			err = errors.Join(err, e)
		}
	}
	return err
}
