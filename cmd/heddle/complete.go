package main

import (
	"context"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lab"
)

// completionTime bounds a call to the agent during completion.
const completionTime = 500 * time.Millisecond

// completeFrom completes each argument from its own source of words. A source that fails
// offers none: errors cannot be shown during completion.
func (s *session) completeFrom(sources ...func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(sources) && len(sources) > 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return sources[min(len(args), len(sources)-1)](), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFromOrFiles offers words from the source, and files.
func (s *session) completeFromOrFiles(source func() []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return source(), cobra.ShellCompDirectiveDefault
	}
}

func (s *session) networkNames() (names []string) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	all, _ := s.client().Networks(ctx)
	for _, n := range all {
		names = append(names, n.Name)
	}
	return names
}

func (s *session) endpointIDs() (ids []string) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	all, _ := s.client().Endpoints(ctx)
	for _, e := range all {
		ids = append(ids, cobra.CompletionWithDesc(e.ID.Short(), strings.TrimSpace(e.Name+" "+e.NetworkName)))
		if e.Name != "" && e.Name != e.ID.Container {
			ids = append(ids, cobra.CompletionWithDesc(e.Name, e.ID.Short()+" "+e.NetworkName))
		}
	}
	return ids
}

func (s *session) explainNames() []string {
	codes := heddle.Codes()
	slices.Sort(codes)
	ids := append(s.endpointIDs(), s.networkNames()...)
	for _, c := range codes {
		x, _ := heddle.Explain(c)
		ids = append(ids, cobra.CompletionWithDesc(string(c), x.Title))
	}
	return append(ids, checkIDs()...)
}

func (s *session) modes() []string {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	names, _ := s.client().Modes(ctx)
	return names
}

func (s *session) interfaces() (names []string) {
	all, _ := net.Interfaces()
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}

func (s *session) labNames() (names []string) {
	all, _ := lab.List(lab.DefaultDir)
	for _, l := range all {
		names = append(names, l.Name)
	}
	return names
}
