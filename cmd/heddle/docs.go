package main

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/heddle-network/heddle"
)

// newDocs returns the hidden commands that write the program's reference from
// the command tree.
func newDocs(*session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "docs", Short: "Write the reference of the command line", Hidden: true},
		newDocsWriter("man", "Write man pages", writeMan), newDocsWriter("markdown", "Write Markdown pages", doc.GenMarkdownTree))
}

func newDocsWriter(name, short string, write func(*cobra.Command, string) error) *cobra.Command {
	return &cobra.Command{
		Use: name + " DIR", Short: short, Args: withArgs("DIR"),
		Example: "  heddle docs " + name + " " + name,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return heddle.Wrap(heddle.BadArgument, "make folder", args[0], err, "name a folder that can be written")
			}
			return write(cmd.Root(), args[0])
		},
	}
}

// writeMan writes one page a command; SOURCE_DATE_EPOCH dates them.
func writeMan(root *cobra.Command, dir string) error {
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "heddle " + heddle.Version, Manual: "heddle"}, dir)
}
