package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
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
func writeMan(cmd *cobra.Command, dir string) error {
	for _, c := range cmd.Commands() {
		if !c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand() {
			continue
		}
		if err := writeMan(c, dir); err != nil {
			return err
		}
	}
	page, err := manPage(cmd)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"), page, 0o644)
}

// manPage returns a command's page. Its tables are not filled, and its flags are a list.
func manPage(cmd *cobra.Command) ([]byte, error) {
	long := cmd.Long
	defer func() { cmd.Long = long }()
	cmd.Long = helpTable.ReplaceAllString(long, "```\n$0\n```\n")
	var page bytes.Buffer
	err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Source: "heddle " + heddle.Version, Manual: "heddle"}, &page)
	return manFlag.ReplaceAll(page.Bytes(), []byte(".TP\n$1")), err
}

// helpTable is a table in a help text: indented lines. manFlag is a flag in a man page, before the
// text that is indented by a tab.
var (
	helpTable = lazyregexp.New(`(?m)^  .*(\n  .*)*$`)
	manFlag   = lazyregexp.New(`(?m)^(?:\.PP\n)?(\\fB-.*\n)\t`)
)
