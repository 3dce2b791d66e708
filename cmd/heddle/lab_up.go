package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/lab/boot"
)

// upFlags are the flags of lab up.
type upFlags struct {
	lab.Options
	rate, agent string
	dryRun      bool
}

func newLabUp(s *session) *cobra.Command {
	o := upFlags{Options: lab.Options{Progress: func(step string) { s.note("%s", step) }}}
	cmd := &cobra.Command{
		Use: "up [FILE]", Args: withArgs("[FILE]"),
		Short: "Make a lab",
		Long: `up makes several hosts on this machine and a switch between them. The hosts are
called host1, host2, …, know each other by name, and outlive the command. The
agent of each host is heddled, from the folder of this program.

With --store embedded the agents form a cluster: that of host1 makes it, the
others join; of three and more three keep the store, of five and more five.

With --machines 6.1 the hosts are virtual machines with that stock kernel of
Debian's: 'make vm-kernels' fetches them, QEMU and virtiofsd run them.

FILE is a topology in YAML: hosts and routers, switches, addresses, MTUs, rates,
daemons, slots for NICs of virtual machines. docs/guides/lab.md has its keys.`,
		Example: "  heddle lab up --hosts 2 --dry-run\n  heddle lab up --hosts 2\n  heddle lab up --name small --hosts 1 --mtu 9000 --rate 10gbit --no-agent",
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := o.topology(cmd, args)
			if err != nil {
				return err
			}
			l, err := o.raise(cmd.Context(), t)
			if err != nil {
				return err
			}
			return s.emit("Lab", l, func(w io.Writer) error { return s.hostTable(w, l) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Name, "name", defaultLab, "name of the lab")
	f.IntVar(&o.Hosts, "hosts", 2, "number of hosts")
	f.IntVar(&o.MTU, "mtu", 1500, "MTU of the wires in `bytes`")
	f.StringVar(&o.Machine, "machines", "", "make the hosts virtual machines with that stock `kernel`: "+strings.Join(boot.Versions(), " or "))
	f.StringVar(&o.rate, "rate", "", "`rate` of the wires, such as 10gbit; by default unlimited")
	f.StringVar(&o.Store, "store", "", "the agents' `store`: none or embedded; by default none")
	f.StringVar(&o.agent, "agent", "", "the agent's `file`; by default heddled beside this program")
	f.BoolVar(&o.NoAgent, "no-agent", false, "leave the hosts without agents")
	f.BoolVar(&o.dryRun, "dry-run", false, "make the checks, show the hosts that there would be, and change nothing")
	return cmd
}

// raise makes the lab, or shows what it would be.
func (o *upFlags) raise(ctx context.Context, t lab.Topology) (*lab.Lab, error) {
	if o.dryRun {
		return lab.Preview(ctx, t)
	}
	return lab.Raise(ctx, t)
}

// topology is what the flags or the topology file describe.
func (o *upFlags) topology(cmd *cobra.Command, args []string) (t lab.Topology, err error) {
	if o.agent != "" {
		o.AgentCommand = []string{o.agent}
	}
	if len(args) > 0 {
		return o.fromFile(cmd, args[0])
	}
	if o.Hosts < 1 {
		return t, heddle.Errorf(heddle.BadArgument, "read flag", "--hosts",
			fmt.Sprintf("%d is less than one host", o.Hosts), "give 1 or more")
	}
	if o.rate != "" {
		rate, err := impair.ParseRate(o.rate)
		if err != nil {
			return t, err
		}
		if rate != impair.Unlimited {
			o.Rate = uint64(rate)
		}
	}
	return o.Topology()
}

// fromFile is what a topology file describes. Of the flags, only those about this machine are
// used; everything else is in the file.
func (o *upFlags) fromFile(cmd *cobra.Command, file string) (t lab.Topology, err error) {
	for _, name := range []string{"hosts", "mtu", "rate", "store"} {
		if cmd.Flags().Changed(name) {
			return t, heddle.Errorf(heddle.BadArgument, "read flag", "--"+name, "the topology file decides this",
				"leave the flag out, and change the file")
		}
	}
	if t, err = lab.Read(file); err != nil {
		return t, err
	}
	if cmd.Flags().Changed("name") || t.Name == "" {
		t.Name = o.Name
	}
	if o.agent != "" {
		t.Agent.Command = o.AgentCommand
	}
	if o.Machine != "" {
		t.Machine = o.Machine
	}
	t.Agent.Off = t.Agent.Off || o.NoAgent
	t.Progress = o.Progress
	return t, nil
}

// bitRate writes a rate with the unit that keeps it short.
func bitRate(r impair.Rate) string {
	if r == impair.Unlimited {
		return r.String()
	}
	bits, units := float64(r), []string{"Bit/s", "Kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"}
	for bits >= 1000 && len(units) > 1 {
		bits, units = bits/1000, units[1:]
	}
	return strconv.FormatFloat(bits, 'g', 4, 64) + " " + units[0]
}
