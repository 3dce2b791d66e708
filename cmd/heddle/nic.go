package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/service"
)

// nicStateDir has the certificate of the NIC service, and what it knows of its grants.
const nicStateDir = "/var/lib/heddle/nic"

func newNIC(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "nic", Short: "NICs that are plugged into this hypervisor's machines", GroupID: groupNetworks},
		newNICServe(s), newNICGrant(s), newNICRevoke(s), newNICList(s))
}

func nicStateFlag(f *pflag.FlagSet, dir *string) {
	f.StringVar(dir, "state-dir", nicStateDir, "`folder` with the service's certificate and grants")
}

// grantMade is a grant, without its secret.
type grantMade struct {
	Machine string `json:"machine"`
	Address string `json:"address"`
	File    string `json:"file"`
}

func newNICGrant(s *session) *cobra.Command {
	dir, out := "", ""
	cmd := &cobra.Command{
		Use: "grant FILE MACHINE", Args: withArgs("FILE", "MACHINE"),
		Short: "Let a machine ask for NICs",
		Long: `grant writes a file by which a machine's agent asks for NICs: the address of the
service that FILE configures, its certificate's fingerprint, and a secret. Carry the file
into the machine, and start the agent there with it:

  heddled --nic-grant FILE

Who has the file can plug NICs into that machine, and into no other. It is for one agent:
of two with the same grant, such as in a machine's copy, each takes out what the other has
plugged in. A new grant ends the machine's older one at once.`,
		Example: "  heddle nic grant nics.yaml web1 --out web1.grant",
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := service.ReadConfig(args[0])
			if err != nil {
				return err
			}
			if _, known := c.Machines[args[1]]; !known {
				return heddle.Errorf(heddle.BadArgument, "make grant for machine", heddle.Clip(args[1]), args[0]+" does not have it", "add it to machines in that file")
			}
			if out == "" {
				return heddle.Errorf(heddle.BadArgument, "make grant for machine", args[1], "no file is named for it", "name one with --out")
			}
			if err := checkSecretFile(out); err != nil { // before the older grant ends
				return heddle.Wrap(heddle.BadArgument, "write grant", out, err, "name a file in a folder that can be written, with --out")
			}
			state, err := service.OpenState(dir)
			if err != nil {
				return err
			}
			g, err := state.Grant(args[1], c.Listen)
			if err != nil {
				return err
			}
			text, err := g.Text()
			if err == nil {
				err = replaceSecretFile(out, text)
			}
			if err != nil {
				return heddle.Wrap(heddle.BadArgument, "write grant", out, err, "name a file in a folder that can be written, with --out")
			}
			return s.emitDone("NICGrant", grantMade{args[1], c.Listen, out}, "the grant of machine %s is in %s", args[1], out)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write the grant to this `file` (mode 0600)")
	nicStateFlag(cmd.Flags(), &dir)
	return cmd
}

func newNICRevoke(s *session) *cobra.Command {
	dir, dryRun := "", false
	cmd := &cobra.Command{
		Use: "revoke MACHINE", Args: withArgs("MACHINE"),
		Short: "End a machine's grant at once",
		Long: `revoke ends what 'heddle nic grant' gave. The machine keeps the NICs that it has. To take
them out, detach their endpoints ('heddle nic list' and 'heddle detach').`,
		Example: "  heddle nic revoke web1",
		RunE: func(_ *cobra.Command, args []string) error {
			state, err := service.OpenState(dir)
			if err != nil {
				return err
			}
			if dryRun {
				file, err := state.GrantFile(args[0])
				if err != nil || file == "" {
					return errors.Join(err, s.emitCommands(nil))
				}
				return s.emitCommands([]string{heddle.CommandLine([]string{"rm", file})})
			}
			was, err := state.Revoke(args[0])
			if err != nil {
				return err
			}
			told := "the grant of machine %s has ended"
			if !was {
				told = "machine %s had no grant"
			}
			return s.emitDone("NICRevocation", map[string]any{"machine": args[0], "existed": was}, told, args[0])
		},
	}
	nicStateFlag(cmd.Flags(), &dir)
	dryRunFlag(cmd, &dryRun)
	return cmd
}
