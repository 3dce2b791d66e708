package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

func newHostAuthority(s *session) *cobra.Command {
	q, file := client.AuthorityRequest{Do: client.AuthorityShow}, ""
	cmd := &cobra.Command{
		Use: "authority", Args: knownCommand,
		Short: "Where the key of the cluster's authority is, and taking it off the hosts",
		Long: `authority shows where the key is by which the cluster's authority signs
certificates: on the disks of the hosts that keep the store, or off the hosts, and
until when it is lent to them. It asks all of them.

Who has the key is the cluster. An operator exports it into a file, keeps that
where no host is, and withdraws the key from the hosts' disks. It is lent to their
memory for as long as hosts join, become keepers, or renew their certificates.`,
		Example: "  heddle host authority\n  heddle host authority -o json",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if q.Credential, err = credential(file); err != nil {
				return err
			}
			a, err := s.client().Authority(cmd.Context(), q)
			if err != nil {
				return err
			}
			return s.emit("Authority", a, func(w io.Writer) error { return s.authorityScreen(w, a) })
		},
	}
	credentialFlag(cmd, &file)
	cmd.AddCommand(newAuthorityExport(s),
		s.authorityCommand(&cobra.Command{
			Use:   "withdraw FILE",
			Short: "Take the authority's key off the hosts' disks",
			Long: `withdraw has every host that keeps the store delete the authority's key from its
disk. FILE is what 'heddle host authority export' wrote: without it the key would be
lost, and so the cluster could let no host in again. A host that is away deletes the
key when it is back; those that have not done so yet are named, and the exit code is
7. Call it again, or 'heddle host authority', to see whether they have.

From then on no host joins and none becomes a keeper of the store until the key is
lent, and certificates are renewed at such a time only. A key that was on a disk
may be read there after it is deleted, and out of backups.`,
			Example: "  heddle host authority withdraw authority.pem",
		}, client.AuthorityWithdraw, nil, func(k client.AuthorityKeeper) bool { return !k.Disk }),
		newAuthorityLend(s),
		s.authorityCommand(&cobra.Command{
			Use:   "return FILE",
			Short: "Put the authority's key back on the hosts' disks",
			Long: `return ends a withdrawal: the hosts that keep the store have the authority's key on
their disks again. Those that did not get it are named, and the exit code is 7; call
it again when they are back.`,
			Example: "  heddle host authority return authority.pem",
		}, client.AuthorityReturn, nil, func(k client.AuthorityKeeper) bool { return k.Disk }))
	return cmd
}

func newAuthorityLend(s *session) *cobra.Command {
	life := time.Hour
	cmd := s.authorityCommand(&cobra.Command{
		Use:   "lend FILE",
		Short: "Lend the hosts the authority's key for a while",
		Long: `lend gives the authority's key to the hosts that keep the store, in memory, for the
time of --for. Until then hosts join, promoted ones become keepers, and certificates
of which two thirds of their year have passed are renewed, within a minute. Lend it
once a season: a certificate that ends is of no use any more.

A host forgets the key when the time is over, or its agent ends. Lent again, the
last time counts. Those that did not get it are named, and the exit code is 7.`,
		Example: "  heddle host authority lend authority.pem --for 10m",
	}, client.AuthorityLend, func(q *client.AuthorityRequest) error {
		if life < time.Second {
			return heddle.Errorf(heddle.BadArgument, "read flag", "--for", life.String()+" is less than a second",
				"give a second or more, such as 1h")
		}
		q.Seconds = int64(life / time.Second)
		return nil
	}, func(k client.AuthorityKeeper) bool { return !k.Lent.IsZero() })
	cmd.Flags().DurationVar(&life, "for", life, "how long they have it, at most 24h")
	cmd.RegisterFlagCompletionFunc("for", cobra.NoFileCompletions)
	return cmd
}

// authorityCommand completes a command that takes the key; done says whether a host has
// done what the command is for.
func (s *session) authorityCommand(cmd *cobra.Command, do string, set func(*client.AuthorityRequest) error, done func(client.AuthorityKeeper) bool) *cobra.Command {
	q, file := client.AuthorityRequest{Do: do}, ""
	cmd.Args = withArgs("FILE")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if set != nil {
			if err := set(&q); err != nil {
				return err
			}
		}
		if q.Credential, err = credential(file); err != nil {
			return err
		}
		if q.Key, err = readSecretFile(args[0], "the authority's key"); err != nil {
			return err
		}
		defer s.showProgress("asking the hosts that keep the store")()
		a, err := s.client().Authority(cmd.Context(), q)
		if err != nil {
			return err
		}
		if q.DryRun {
			return s.emitCommands(a.Commands)
		}
		if err := s.emit("Authority", a, func(w io.Writer) error { return s.authorityScreen(w, a) }); err != nil {
			return err
		}
		for _, k := range a.Keepers {
			if k.Problem != "" || !done(k) {
				return exitCode(heddle.Partial)
			}
		}
		return nil
	}
	credentialFlag(cmd, &file)
	dryRunFlag(cmd, &q.DryRun)
	return cmd
}

func (s *session) authorityScreen(w io.Writer, a client.Authority) error {
	var rows [][]string
	for _, k := range a.Keepers {
		what := "none"
		switch {
		case k.Disk:
			what = "on its disk"
		case !k.Lent.IsZero():
			what = "lent until " + formatTime(k.Lent)
		case k.Problem != "":
			what = s.colour(w, yellow, "not known")
		}
		rows = append(rows, []string{k.Name, what, k.Problem})
	}
	where := "on the hosts that keep the store"
	if !a.Withdrawn.IsZero() {
		where = fmt.Sprintf("off the hosts since %s, withdrawn on %s", formatTime(a.Withdrawn), a.By)
	}
	if err := printLine(w, "the authority's key is %s\n\n", where); err != nil {
		return err
	}
	return writeTable(w, s.width(), []string{"keeper", "key", "problem"}, rows)
}
