package vpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

// GatewayName is the name, on the host, of the network that is a VPC; HostName is that, in a VPC, of the network to which the host leads. Both
// together are the VPC's way out.
func GatewayName(vpc string) string { return "vpc-" + vpc }

const HostName = "host"

// Out is a VPC's way out by its host: its half on the host, and that in the VPC, each with an ID if it is there.
type Out struct{ Outside, Inside heddle.Network }

// Whole reports whether both halves are there, and are of one link.
func (o Out) Whole() bool {
	return o.Outside.ID != "" && o.Inside.ID != "" && slices.Equal(o.Outside.Subnets, o.Inside.Subnets)
}

// triesToFit is how often a free subnet of the host's is asked for that the VPC does not have itself.
const triesToFit = 32

// FindOut finds a VPC's way out, and what it can of it if there is an error. The host's agent is that of VPC "".
func FindOut(ctx context.Context, of Agents, name string) (o Out, err error) {
	if err := heddle.CheckVPCName(name); err != nil {
		return o, err
	}
	all, err := of(name).Networks(ctx)
	if err != nil {
		return o, Away(name, err, "")
	}
	if i := slices.IndexFunc(all, func(n heddle.Network) bool { return n.Mode == heddle.ModeGateway }); i >= 0 {
		o.Inside = all[i]
	}
	o.Outside, err = Outside(ctx, of(""), name)
	return o, err
}

// Outside finds the host's half.
func Outside(ctx context.Context, host *client.Client, name string) (n heddle.Network, err error) {
	all, err := host.Networks(ctx)
	if i := slices.IndexFunc(all, func(n heddle.Network) bool { return n.Mode == heddle.ModeGateway && n.Options["vpc"] == name }); i >= 0 {
		n = all[i]
	}
	return n, err
}

// plan computes the halves that a VPC is to have, which both agents would make. Those that are there stay, if they fit together.
func (o Out) plan(ctx context.Context, of Agents, name string) (want Out, err error) {
	if o.Whole() {
		return o, nil
	}
	for range triesToFit {
		want = o
		if want.Outside.ID == "" {
			ask := heddle.Network{Name: GatewayName(name), Mode: heddle.ModeGateway, Options: map[string]string{"vpc": name}}
			if want.Outside, _, err = of("").CreateNetwork(ctx, ask, true); err != nil {
				return want, err
			}
			want.Outside.ID = ""
		}
		want.Inside = heddle.Network{Name: HostName, Mode: heddle.ModeGateway, Subnets: want.Outside.Subnets, MTU: want.Outside.MTU}
		if o.Inside.ID != "" { // its name and its addresses are taken by what it takes the place of
			return want, nil
		}
		if _, _, err = of(name).CreateNetwork(ctx, want.Inside, true); heddle.SubnetOverlap.In(err) == nil || o.Outside.ID != "" {
			return want, err
		}
	}
	return want, err
}

// Lead makes the way out of a VPC by its host, unless it is there. It reports whether it has made some of it. If it fails, a half that was not there before is not.
func Lead(ctx context.Context, of Agents, name string) (made bool, err error) {
	have, err := FindOut(ctx, of, name)
	if err != nil || have.Whole() {
		return false, err
	}
	want, err := have.plan(ctx, of, name)
	if err != nil {
		return false, err
	}
	if have.Inside.ID != "" {
		if err := of(name).DeleteNetwork(ctx, have.Inside.Name); err != nil {
			return false, err
		}
	}
	if have.Outside.ID == "" {
		if _, _, err := of("").CreateNetwork(ctx, asked(want.Outside), false); err != nil {
			return false, err
		}
	}
	patience := time.Duration(0)
	if have.Outside.ID != "" {
		patience = mendTime
	}
	if err := makeInside(ctx, of(name), want.Inside, patience); err != nil {
		if have.Outside.ID == "" {
			err = errors.Join(err, of("").DeleteNetwork(context.WithoutCancel(ctx), want.Outside.Name))
		}
		return false, err
	}
	return true, nil
}

// mendTime is how long the host's agent may take to make the link of its half again, whose end in the VPC was removed. It repairs within seconds.
const mendTime = 10 * time.Second

// makeInside makes the VPC's half. The kernel refuses it while there is no link.
func makeInside(ctx context.Context, agent *client.Client, n heddle.Network, patience time.Duration) error {
	for end := time.Now().Add(patience); ; {
		_, _, err := agent.CreateNetwork(ctx, n, false)
		if heddle.KernelRefused.In(err) == nil || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// asked is a network as it is asked for, of what an agent has completed.
func asked(n heddle.Network) heddle.Network {
	return heddle.Network{Name: n.Name, Mode: n.Mode, Subnets: n.Subnets, MTU: n.MTU, Options: n.Options}
}

// LeadCommands are what Lead does, as a person could type it; none if the way out is there.
func LeadCommands(ctx context.Context, of Agents, name string) (commands []string, err error) {
	have, err := FindOut(ctx, of, name)
	if err != nil || have.Whole() {
		return nil, err
	}
	want, err := have.plan(ctx, of, name)
	if err != nil {
		return nil, err
	}
	create := func(n heddle.Network, words ...string) {
		words = append(words, "network", "create", n.Name, "--mode", n.Mode)
		for _, s := range n.Subnets {
			words = append(words, "--subnet", s.String())
		}
		words = append(words, "--mtu", fmt.Sprint(n.MTU))
		for key, value := range n.Options {
			words = append(words, "--opt", key+"="+value)
		}
		commands = append(commands, heddle.CommandLine(words))
	}
	if have.Inside.ID != "" {
		commands = append(commands, heddle.CommandLine([]string{"heddle", "--vpc", name, "network", "delete", have.Inside.Name}))
	}
	if have.Outside.ID == "" {
		create(want.Outside, "heddle")
	}
	create(want.Inside, "heddle", "--vpc", name)
	return commands, nil
}

// Close takes away what there is of a way out: the VPC's half, and then the host's. It reports whether there was any.
func Close(ctx context.Context, of Agents, name string) (existed bool, err error) {
	have, err := FindOut(ctx, of, name)
	if err == nil && have.Inside.ID != "" {
		existed = true
		err = of(name).DeleteNetwork(ctx, have.Inside.Name)
	}
	if err == nil && have.Outside.ID != "" {
		existed = true
		err = of("").DeleteNetwork(ctx, have.Outside.Name)
	}
	return existed, err
}

// CloseOutside takes away the host's half of the way out of a VPC that is not there any more, which a boot can leave. Without the host's agent there is
// none that is known.
func CloseOutside(ctx context.Context, host *client.Client, name string) error {
	n, err := Outside(ctx, host, name)
	switch {
	case errors.Is(err, heddle.AgentDown.Sentinel()):
		return nil
	case err != nil || n.ID == "":
		return err
	}
	return host.DeleteNetwork(ctx, n.Name)
}

// CloseCommands are what Close does, as a person could type it.
func CloseCommands(ctx context.Context, of Agents, name string) (commands []string, err error) {
	have, err := FindOut(ctx, of, name)
	if have.Inside.ID != "" {
		commands = append(commands, heddle.CommandLine([]string{"heddle", "--vpc", name, "network", "delete", have.Inside.Name}))
	}
	if have.Outside.ID != "" {
		commands = append(commands, heddle.CommandLine([]string{"heddle", "network", "delete", have.Outside.Name}))
	}
	return commands, err
}
