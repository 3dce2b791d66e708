package main

import (
	"io"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/havip"
)

// havipFlags are the flags of havip create as given, before they are parsed.
type havipFlags struct {
	network, address     string
	labels, names, ports []string
	dryRun               bool
}

func newHAVIPCreate(s *session) *cobra.Command {
	var flags havipFlags
	cmd := &cobra.Command{
		Use: "create NAME --network NETWORK", Args: withArgs("NAME"), ValidArgsFunction: cobra.NoFileCompletions,
		Short: "Make a HAVIP",
		Long: `create reserves an address of a network of mode bridge for whoever of its members
announces it. The members are the network's endpoints with all of the labels, and with
one of the names; they come and go. Nobody holds it until one announces it, or
'heddle havip assign'. With --publish a port of the host leads to the holder. For IPv4
and IPv6 make two. Made again with the same settings, it is left as it is.`,
		Example: `  heddle havip create front --network web --label role=lb
  heddle havip create front --network web --address 10.20.0.100 --label role=lb --publish 80:8080
  heddle havip create front6 --network web --address fd20::100 --name lb1 --name lb2 --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := flags.havip(args[0])
			if err != nil {
				return err
			}
			r, err := s.client().CreateHAVIP(cmd.Context(), h, flags.dryRun)
			if err != nil {
				return err
			}
			if flags.dryRun {
				return s.emitCommands(r.Commands)
			}
			return s.emit("HAVIP", r.HAVIP, func(w io.Writer) error { return s.havipTable(w, []havip.Shown{r.HAVIP}) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.network, "network", "", "the `network` that has the address")
	f.StringVar(&flags.address, "address", "", "the `IP` address; by default a free one of the network's first subnet")
	f.StringArrayVar(&flags.labels, "label", nil, "`K=V`, a label that members have")
	f.StringArrayVar(&flags.names, "name", nil, "a `name` that a member may have")
	f.StringArrayVar(&flags.ports, "publish", nil, "publish a port or a range of them: `[IP:]HOST:PORT[/udp|/sctp]`")
	dryRunFlag(cmd, &flags.dryRun)
	cmd.RegisterFlagCompletionFunc("network", s.completeFrom(s.networkNames))
	for _, free := range []string{"address", "label", "name", "publish"} {
		cmd.RegisterFlagCompletionFunc(free, cobra.NoFileCompletions)
	}
	return cmd
}

// havip parses the flags.
func (x *havipFlags) havip(name string) (h havip.HAVIP, err error) {
	h = havip.HAVIP{Name: name, Network: x.network}
	if x.network == "" {
		return h, heddle.Errorf(heddle.BadArgument, "create HAVIP", heddle.Clip(name), "--network is missing", "name the network that has the address")
	}
	if x.address != "" {
		if h.Address, err = netip.ParseAddr(x.address); err != nil {
			return h, heddle.Errorf(heddle.BadAddress, "read flag", "--address", heddle.Clip(x.address)+" is no IP address", "give one such as 10.20.0.100")
		}
	}
	if h.Members.Labels, err = heddle.ParseLabels(x.labels); err != nil {
		return h, err
	}
	h.Members.Names = x.names
	for _, word := range x.ports {
		some, err := ParsePublish(word)
		if err != nil {
			return h, err
		}
		h.Ports = append(h.Ports, some...)
	}
	return h, h.Check()
}
