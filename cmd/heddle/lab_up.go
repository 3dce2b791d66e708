package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lab"
)

func newLabUp(s *session) *cobra.Command {
	o := lab.Options{Progress: func(step string) { s.note("%s", step) }}
	rate, agent := "", ""
	cmd := &cobra.Command{
		Use: "up", Args: takes(),
		Short: "Make a lab",
		Long: `up makes several hosts on this machine and a switch between them. The hosts are
called host1, host2, …, know each other by name, and outlive the command. The
agent of each host is heddled, from the folder of this program.`,
		Example: "  heddle lab up --hosts 2\n  heddle lab up --name small --hosts 1 --mtu 9000 --rate 10gbit --no-agent",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Rate, err = parseRate(rate); err != nil {
				return err
			}
			if o.Hosts < 1 {
				return heddle.Errorf(heddle.BadArgument, "--hosts", fmt.Sprint(o.Hosts), "a lab has one host at least")
			}
			if agent != "" {
				o.AgentCommand = []string{agent}
			}
			l, err := lab.Up(cmd.Context(), o)
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
	f.StringVar(&rate, "rate", "", "`rate` of the wires, such as 10gbit; by default unlimited")
	f.StringVar(&agent, "agent", "", "the agent's `file`; by default heddled beside this program")
	f.BoolVar(&o.NoAgent, "no-agent", false, "leave the hosts without agents")
	return cmd
}

// units of rates, as tc(8) has them; the longest names first.
var units = []struct {
	name string
	bits float64
}{{"tbit", 1e12}, {"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}

// parseRate reads a rate in bits a second, such as 10gbit; 0 is unlimited.
func parseRate(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	for _, u := range units {
		number, found := strings.CutSuffix(strings.ToLower(s), u.name)
		if !found {
			continue
		}
		v, err := strconv.ParseFloat(number, 64)
		if err == nil && v > 0 && v*u.bits <= 1e15 {
			return uint64(v * u.bits), nil
		}
		break
	}
	return 0, heddle.Errorf(heddle.BadArgument, "--rate", fmt.Sprintf("%q", s), "give a number and a unit: bit, kbit, mbit, gbit or tbit, such as 10gbit")
}

// bitRate writes a rate with the unit that keeps it short.
func bitRate(bits uint64) string {
	if bits == 0 {
		return "unlimited"
	}
	for _, u := range units {
		if float64(bits) >= u.bits {
			return strconv.FormatFloat(float64(bits)/u.bits, 'g', 4, 64) + " " + strings.ToUpper(u.name[:1]) + u.name[1:] + "/s"
		}
	}
	return "0 bit/s"
}
