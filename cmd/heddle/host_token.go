package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
)

func newHostToken(s *session) *cobra.Command {
	life, q, file, out := 24*time.Hour, client.TokenRequest{Uses: 1}, "", ""
	cmd := &cobra.Command{
		Use: "token", Args: withArgs(),
		Short: "Make a token that lets a host into the cluster",
		Long: `token makes a token: into a file that only its owner can read (--out), or on
standard output. The new host's agent is started with it and the address of a
host that keeps the store:

  heddled --join ADDR --token-file FILE

Who has the token can join one host, or as many as --uses says: keep it as a
password. With --out, the words to type on the new hosts are printed as well. It lets nobody take the place of a host that is in the cluster, or keep
the store; with --may networks, the hosts that come by it may write the networks
that hosts share ('heddle host grant'). The store has its hash only. Its name, which
is no secret, stands beside the hosts that came by it in 'heddle host list'.`,
		Example: "  heddle host token\n  heddle host token --out join.token\n  heddle host token --ttl 1h --uses 5 --out join.token\n  heddle host token --may networks",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if life < time.Second {
				return heddle.Errorf(heddle.BadArgument, "read flag", "--ttl", life.String()+" is less than a second",
					"give a second or more, such as 24h")
			}
			q.Seconds = int64(life / time.Second)
			if q.Credential, err = credential(file); err != nil {
				return err
			}
			t, err := s.client().HostToken(cmd.Context(), q)
			if err != nil {
				return err
			}
			if q.DryRun {
				return s.emitCommands(t.Commands)
			}
			if out != "" {
				return s.writeTokenFile(out, t)
			}
			return s.emit("Token", t, func(w io.Writer) error {
				if isTerminal(s.stdout) {
					s.note("token %s, until %s", t.Name, formatTime(t.Expires))
					s.noteJoin(t, "FILE")
				}
				_, err := fmt.Fprintln(w, t.Token)
				return err
			})
		},
	}
	cmd.Flags().DurationVar(&life, "ttl", life, "how long the token lets hosts in")
	cmd.Flags().IntVar(&q.Uses, "uses", q.Uses, "how many hosts it lets in")
	cmd.Flags().StringSliceVar(&q.May, "may", nil, "what hosts that come by it may write that hosts share: the `right` networks")
	cmd.RegisterFlagCompletionFunc("may", s.completeFrom(rightNames))
	cmd.Flags().StringVar(&out, "out", "", "write the token to this `file` (mode 0600), and do not show it")
	credentialFlag(cmd, &file)
	dryRunFlag(cmd, &q.DryRun)
	return cmd
}

// writeTokenFile writes a token to a file, and shows the rest of its data.
func (s *session) writeTokenFile(out string, t client.Token) error {
	if err := replaceSecretFile(out, []byte(t.Token+"\n")); err != nil {
		return heddle.Wrap(heddle.BadArgument, "write token file", out, err,
			"name a file in a folder that can be written, with --out")
	}
	t.Token = ""
	err := s.emitDone("Token", t, "token %s is in %s and lets %s in until %s", t.Name, out, heddle.Count(t.Uses, "host"), formatTime(t.Expires))
	s.noteJoin(t, out)
	return err
}

// noteJoin tells the words by which hosts join, once they have a copy of the token's file.
func (s *session) noteJoin(t client.Token, file string) {
	if len(t.Join) == 0 {
		return
	}
	where := "on the new host"
	if t.Uses > 1 {
		where = fmt.Sprintf("on each of the %d new hosts", t.Uses)
	}
	s.note("%s, as root, with a copy of the token's file: %s --join %s --token-file %s", where, s.agentProgram(), t.Join[0], file)
}

// checkSecretFile reports why replaceSecretFile could not write a file there.
func checkSecretFile(path string) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// replaceSecretFile replaces a file with one that only its owner can read.
func replaceSecretFile(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // made with 0600
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
