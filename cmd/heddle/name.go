package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
)

func newName(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "name", Short: "Names: how containers find each other", GroupID: groupNetworks},
		newNameList(s), newNameShow(s))
}

func newNameList(s *session) *cobra.Command {
	var filter []string
	quiet := false
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: withArgs(),
		Short: "List the names of containers",
		Long: `list shows the names that containers of this host's networks have, on all hosts:
their own (heddle attach --name) and aliases (--alias).`,
		Example: "  heddle name list\n  heddle name list -q\n  heddle name list --filter network=front --filter name=api -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := s.client().Names(cmd.Context(), filter)
			if err != nil {
				return err
			}
			if quiet {
				return emitIDs(s, slices.CompactFunc(all, sameName), func(e names.Entry) string { return e.Name })
			}
			return s.emit("NameList", listOf(all), func(w io.Writer) error { return s.nameTable(w, all) })
		},
	}
	s.plainFilterFlag(cmd, &filter, filterKeys{"network": s.networkNames, "name": s.nameWords, "host": s.hostNames})
	s.quietFlag(cmd, &quiet)
	return cmd
}

func sameName(a, b names.Entry) bool { return a.Name == b.Name }

func (s *session) nameTable(w io.Writer, all []names.Entry) error {
	if len(all) == 0 {
		s.note("no names")
		return nil
	}
	var rows [][]string
	for _, e := range all {
		rows = append(rows, []string{s.brief(e.Name), s.brief(e.Network), s.brief(e.Host), s.briefID(e.Endpoint), joinList(e.Addrs), s.nameNote(w, e)})
	}
	return writeTable(w, s.width(), []string{"name", "network", "host", "endpoint", "addresses", "note"}, rows)
}

// nameNote says what is special about a name.
func (s *session) nameNote(w io.Writer, e names.Entry) string {
	switch {
	case e.Clash:
		return s.colour(w, red, "clash")
	case e.Alias:
		return "alias"
	}
	return ""
}

func newNameShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Args: withArgs("NAME"), ValidArgsFunction: s.completeFrom(s.nameWords),
		Short: "Show who has a name",
		Long: `show tells who has a name: NAME, NAME.NETWORK or NAME.NETWORK.heddle.internal.
Several containers may have an alias, and each question is answered with all of
them. If several call themselves by one name, that is answered likewise, and told
as a clash.`,
		Example: "  heddle name show shop\n  heddle name show shop.front.heddle.internal -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := s.client().Names(cmd.Context(), nil)
			if err != nil {
				return err
			}
			found := names.Find(all, args[0])
			if len(found) == 0 {
				return heddle.Errorf(heddle.NoName, "show name", heddle.Clip(args[0]), "no container of this host's networks has it",
					"choose one from 'heddle name list'")
			}
			return s.emit("NameList", listOf(found), func(w io.Writer) error { return s.nameDetails(w, found) })
		},
	}
}

func (s *session) nameDetails(w io.Writer, found []names.Entry) error {
	if err := s.nameTable(w, found); err != nil {
		return err
	}
	if slices.ContainsFunc(found, func(e names.Entry) bool { return e.Clash }) {
		s.note("several containers call themselves by this name: all of them are answered")
	}
	var full []string
	for _, e := range found {
		if one := oneLine(e.Name + "." + e.Network + "." + names.Domain); !slices.Contains(full, one) {
			full = append(full, one)
		}
	}
	_, err := fmt.Fprintln(printTo(w), "in full: "+strings.Join(full, ", "))
	return err
}

func (s *session) nameWords() (words []string) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	all, _ := s.client().Names(ctx, nil)
	for _, e := range all {
		words = append(words, e.Name)
	}
	return slices.Compact(words)
}
