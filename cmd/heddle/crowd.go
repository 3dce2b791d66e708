package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle/crowd/scenario"
)

func newCrowd(s *session) *cobra.Command {
	return newGroup(&cobra.Command{Use: "crowd", Short: "Crowds: people who use the network", GroupID: groupLabs,
		Long: `A crowd is people who behave: they read pages and mail, talk, type, transfer files.
A scenario, which is YAML, says who they are and what they do. From it heddle draws
a plan: what they will do, and what that needs of this machine. A run plays the same
plan on one network mode after the other, and reports how people fared.`},
		newCrowdExample(s), newCrowdImport(s), newCrowdCheck(s), newCrowdPlan(s), newCrowdRun(s), newCrowdStatus(s), newCrowdFault(s), newCrowdScale(s), newCrowdDown(s), newCrowdReport(s), newCrowdMerge(s), newCrowdCompare(s), newCrowdWhy(s), newCrowdLabels(s), newCrowdClassify(s))
}

func newCrowdExample(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "example [NAME]", Args: withArgs("[NAME]"), ValidArgsFunction: s.completeFrom(scenario.Examples),
		Short:   "List the scenarios that are built in, or print one",
		Long:    "example prints a scenario as it is, to be checked, planned, and changed.",
		Example: "  heddle crowd example\n  heddle crowd example small > small.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				text, err := scenario.Example(args[0])
				if err == nil {
					_, err = s.stdout.Write(text)
				}
				return err
			}
			var all []crowdExample
			for _, name := range scenario.Examples() {
				text, err := scenario.Example(name)
				if err != nil {
					return err
				}
				all = append(all, crowdExample{name, scenario.Summary(text)})
			}
			return s.emit("CrowdExampleList", listOf(all), func(w io.Writer) error {
				return writeColumns(w, s.width(), []tableColumn[crowdExample]{
					{"name", func(e crowdExample) string { return e.Name }},
					{"what it is", func(e crowdExample) string { return e.Summary }}}, all)
			})
		},
	}
}

type crowdExample struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}
