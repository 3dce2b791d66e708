package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

// filterFlag adds --filter. The keys are those that the list has besides labels, each with
// the source of its values for completion.
func (s *session) filterFlag(cmd *cobra.Command, words *[]string, keys map[string]func() []string) {
	names := append(slices.Sorted(maps.Keys(keys)), heddle.FilterLabel)
	cmd.Flags().StringArrayVar(words, "filter", nil, "`K=V` to show only what fits, K is "+strings.Join(names, ", ")+" (label=KEY or label=KEY=VALUE); several of one K are alternatives, but all labels are wanted")
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
