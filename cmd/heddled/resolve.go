package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/resolver"
	"github.com/heddle-network/heddle/resolver/process"
)

// newResolveCommand is the resolver's process, which the agent starts.
func newResolveCommand() *cobra.Command {
	var o resolver.Options
	cmd := &cobra.Command{
		Use:    "resolve --dir DIR",
		Short:  "answer containers' questions for names",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Dir == "" {
				return heddle.Errorf(heddle.BadArgument, "start", "resolver", "--dir is missing", "name the folder of names, such as --dir /run/heddle/names")
			}
			if err := process.Confine(); err != nil {
				return err
			}
			o.Log = slog.New(slog.NewTextHandler(boundedFile{os.Stderr}, nil))
			return resolver.Run(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Dir, "dir", "", "folder with a file for each network")
	return cmd
}

// maxLog bounds the resolver's log, in bytes.
const maxLog = 1 << 20

// boundedFile empties a file that has grown too long, before it writes on.
type boundedFile struct{ *os.File }

func (f boundedFile) Write(line []byte) (int, error) {
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > maxLog {
		if err := f.Truncate(0); err != nil {
			return 0, err
		}
	}
	return f.File.Write(line)
}
