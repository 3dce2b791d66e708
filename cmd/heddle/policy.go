package main

import (
	"context"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle/policy"
)

func newPolicy(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "policy", Short: "Policies: who may send what to whom", GroupID: groupNetworks},
		newPolicyCreate(s), newPolicyApply(s), newPolicyList(s), newPolicyShow(s), newPolicyTest(s), newPolicyDelete(s))
}

func newPolicyList(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Args: withArgs(),
		Short:   "List the policies of this host",
		Example: "  heddle policy list\n  heddle policy list -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := s.client().Policies(cmd.Context())
			if err != nil {
				return err
			}
			return s.emit("PolicyList", listOf(all), func(w io.Writer) error {
				if len(all) == 0 {
					s.note("no policies")
					return nil
				}
				return writeColumns(w, s.width(), []tableColumn[policy.Policy]{
					{"name", func(p policy.Policy) string { return s.brief(p.Name) }},
					{"selects", func(p policy.Policy) string { return p.Endpoints.String() }},
					{"closes", closedWays},
					{"rules", func(p policy.Policy) string { return strconv.Itoa(len(p.Rules)) }},
				}, all)
			})
		},
	}
}

// closedWays are the directions in which a policy closes endpoints.
func closedWays(p policy.Policy) string {
	var words []string
	for _, d := range []policy.Direction{policy.Ingress, policy.Egress} {
		if p.Closes(d) {
			words = append(words, string(d))
		}
	}
	return strings.Join(words, ", ")
}

func newPolicyShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Args: withArgs("NAME"), ValidArgsFunction: s.completeFrom(s.policyWords),
		Short:   "Show a policy, and which endpoints it selects",
		Example: "  heddle policy show database\n  heddle policy show database -o yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := s.client().Policy(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return s.emit("Policy", p, func(w io.Writer) error {
				var selected, rules []string
				for _, id := range p.Selected {
					selected = append(selected, s.briefID(id))
				}
				for i, r := range p.Rules {
					rules = append(rules, strconv.Itoa(i+1)+" "+r.String())
				}
				return fieldTable(w, s.width(), [2]string{"name", p.Name}, [2]string{"selects", p.Endpoints.String()}, [2]string{"closes", closedWays(p.Policy)},
					[2]string{"endpoints", strings.Join(selected, cellLineBreak)}, [2]string{"rules", strings.Join(rules, cellLineBreak)})
			})
		},
	}
}

func newPolicyDelete(s *session) *cobra.Command {
	dryRun := false
	cmd := &cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Args: withArgs("NAME"), ValidArgsFunction: s.completeFrom(s.policyWords),
		Short:   "Delete a policy",
		Long:    "delete removes a policy. Endpoints that no other policy selects are open then.",
		Example: "  heddle policy delete database --dry-run\n  heddle policy delete database",
		RunE: func(cmd *cobra.Command, args []string) error {
			if dryRun {
				commands, err := s.client().DeletePolicyCommands(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return s.emitCommands(commands)
			}
			if err := s.client().DeletePolicy(cmd.Context(), args[0]); err != nil {
				return err
			}
			return s.emitDone("PolicyNames", policyNames{args}, "policy %s deleted", args[0])
		},
	}
	dryRunFlag(cmd, &dryRun)
	return cmd
}

func (s *session) policyWords() (names []string) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	all, _ := s.client().Policies(ctx)
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}
