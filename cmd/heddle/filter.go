package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

// hasFilter reports whether one of the words is a filter by the key.
func hasFilter(words []string, key string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, key+"=") })
}

// filterKeys are the keys by which a list is filtered besides labels, each with the source of its
// values for completion.
type filterKeys map[string]func() []string

// filterFlag adds --filter to a list of what has labels.
func (s *session) filterFlag(cmd *cobra.Command, words *[]string, keys filterKeys) {
	names := append(slices.Sorted(maps.Keys(keys)), heddle.FilterLabel)
	filterFlagOf(cmd, words, keys, names, " (label=KEY or label=KEY=VALUE); several of one K are alternatives, but all labels are wanted")
}

// plainFilterFlag adds --filter to a list of what has no labels.
func (s *session) plainFilterFlag(cmd *cobra.Command, words *[]string, keys filterKeys) {
	filterFlagOf(cmd, words, keys, slices.Sorted(maps.Keys(keys)), "; several of one K are alternatives")
}

func filterFlagOf(cmd *cobra.Command, words *[]string, keys filterKeys, names []string, rule string) {
	cmd.Flags().StringArrayVar(words, "filter", nil, "`K=V` to show only what fits, K is "+strings.Join(names, ", ")+rule)
	cmd.RegisterFlagCompletionFunc("filter", func(_ *cobra.Command, _ []string, begun string) (all []string, _ cobra.ShellCompDirective) {
		key, _, valued := strings.Cut(begun, "=")
		if !valued {
			for _, name := range names {
				all = append(all, name+"=")
			}
			return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		if values := keys[key]; values != nil {
			for _, v := range values() {
				all = append(all, key+"="+v)
			}
		}
		return all, cobra.ShellCompDirectiveNoFileComp
	})
}
