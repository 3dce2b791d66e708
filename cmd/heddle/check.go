package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

func newCheck(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "check [ID[/IF]]", GroupID: groupHealth, Args: withArgs("[ID]"), ValidArgsFunction: s.completeFrom(s.endpointIDs),
		Short:   "Compare endpoints with the kernel",
		Long:    "check compares one endpoint, or all networks and endpoints, with what the kernel\nhas. It repairs nothing; an endpoint that Docker has just moved into its container is\ncompleted first. The exit code is 1 when something differs;\nthe hint says what mends it.",
		Example: "  heddle check\n  heddle check web",
		RunE: func(cmd *cobra.Command, args []string) error {
			defer s.showProgress("checking")()
			op, object := "check networks and endpoints", ""
			var all []heddle.Finding
			look := func(id heddle.EndpointID) (err error) {
				all, err = s.client().Check(cmd.Context(), id)
				return err
			}
			var err error
			if len(args) == 0 {
				err = look(heddle.EndpointID{})
			} else {
				op = "check endpoint"
				err = s.onEndpoint(cmd.Context(), args[0], toShow, func(id heddle.EndpointID) error {
					object = id.String()
					return look(id)
				})
			}
			if err != nil {
				return err
			}
			return s.emitFindings(all, heddle.Drift, op, object)
		},
	}
}

func newAudit(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "audit", GroupID: groupHealth, Args: withArgs(),
		Short:   "Compare ledger, kernel and containers",
		Long:    "audit lists what is left over in the kernel, what check finds (objects that are\nmissing or differ, on the host and in containers), endpoints whose container is gone\nor in quarantine, devices that containers have made for themselves on a LAN, and\noperations that are not finished. It repairs nothing; an endpoint that Docker has\njust moved into its container is completed first. The exit code is 1 when there is\nanything; the hint says what mends it.",
		Example: "  heddle audit",
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer s.showProgress("auditing")()
			all, err := s.client().Audit(cmd.Context())
			if err != nil {
				return err
			}
			return s.emitFindings(all, heddle.AuditFound, "audit host", "")
		},
	}
}

// emitFindings writes the findings, and returns an error if there are any.
func (s *session) emitFindings(all []heddle.Finding, code heddle.Code, op, object string) error {
	err := s.emit("FindingList", listOf(all), func(w io.Writer) error { return s.findingTable(w, all) })
	if err != nil || len(all) == 0 {
		return err
	}
	return heddle.Errorf(code, op, object, "the result is "+heddle.Count(len(all), "finding"), remedies(all))
}

// remedies lists what mends the findings, each once.
func remedies(all []heddle.Finding) string {
	var each []string
	for _, f := range all {
		if f.Remedy != "" && !slices.Contains(each, f.Remedy) {
			each = append(each, f.Remedy)
		}
	}
	return strings.Join(each, "; ")
}

func (s *session) findingTable(w io.Writer, all []heddle.Finding) error {
	if len(all) == 0 {
		s.note("all is as it should be")
		return nil
	}
	var rows [][]string
	for _, f := range all {
		rows = append(rows, []string{f.Kind, f.Object, f.Owner, f.Detail})
	}
	return writeTable(w, s.width(), []string{"finding", "object", "owner", "detail"}, rows)
}
