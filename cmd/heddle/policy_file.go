package main

import (
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/policy"
)

func newPolicyCreate(s *session) *cobra.Command {
	return s.policyFileCommand(&cobra.Command{
		Use:   "create FILE",
		Short: "Make the policies of a file",
		Long: `create makes the policies of a YAML file (- is standard input), all or none. A policy
that is there and says the same is left as it is; one that says something else is
refused. An endpoint that no policy selects is open; one that a policy selects is
closed in the policy's directions, but for what rules allow. Answers are allowed.
docs/guides/policies.md shows what a policy has.

A policy that selects an endpoint which cannot be guarded is refused: one on a network
of another mode than bridge.`,
		Example: "  heddle policy create database.yaml --dry-run\n  heddle policy create database.yaml",
	}, false, "made:")
}

func newPolicyApply(s *session) *cobra.Command {
	return s.policyFileCommand(&cobra.Command{
		Use:   "apply FILE",
		Short: "Make or replace the policies of a file",
		Long: `apply makes the policies of a YAML file (- is standard input) as create does, and
replaces those of the same names, all or none. Other policies stay.`,
		Example: "  heddle policy apply database.yaml --dry-run\n  heddle policy apply database.yaml",
	}, true, "applied:")
}

// policyNames is the output document of policies that were made.
type policyNames struct {
	Names []string `json:"names"`
}

// policyFileCommand completes a command that makes the policies of a file.
func (s *session) policyFileCommand(cmd *cobra.Command, replace bool, outcome string) *cobra.Command {
	dryRun := false
	cmd.Args = withArgs("FILE")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var from io.Reader = cmd.InOrStdin()
		if args[0] != "-" {
			f, err := os.Open(args[0])
			if err != nil {
				return heddle.Wrap(heddle.BadPolicy, "read policies", args[0], err, "name a readable file")
			}
			defer f.Close()
			from = f
		}
		all, err := policy.Read(from, args[0])
		if err != nil {
			return err
		}
		if dryRun {
			commands, err := s.client().PolicyCommands(cmd.Context(), all, replace)
			if err != nil {
				return err
			}
			return s.emitCommands(commands)
		}
		if err := s.client().CreatePolicies(cmd.Context(), all, replace); err != nil {
			return err
		}
		done := policyNames{}
		for _, p := range all {
			done.Names = append(done.Names, p.Name)
		}
		return s.emitDone("PolicyNames", done, "%s %s", outcome, strings.Join(done.Names, ", "))
	}
	dryRunFlag(cmd, &dryRun)
	return cmd
}
