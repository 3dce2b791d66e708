package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
)

func newCheck(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "check [ID[/IF]]", GroupID: groupHealth, Args: withArgs("[ID]"), ValidArgsFunction: s.completeFrom(s.endpointIDs),
		Short:   "Compare endpoints with the kernel",
		Long:    "check compares one endpoint, or all networks and endpoints, with what the kernel\nhas. It repairs nothing; an endpoint that Docker has just moved into its container is\ncompleted first. The exit code is 1 when something differs.",
		Example: "  heddle check\n  heddle check web",
		RunE: func(cmd *cobra.Command, args []string) error {
			var id heddle.EndpointID
			var err error
			if len(args) > 0 {
				if id, err = heddle.ParseEndpointID(args[0]); err != nil {
					return err
				}
			}
			defer s.showProgress("checking")()
			all, err := s.client().Check(cmd.Context(), id)
			if err != nil {
				return err
			}
			op, object := "check networks and endpoints", ""
			if len(args) > 0 {
				op, object = "check endpoint", id.String()
			}
			return s.emitFindings(all, heddle.Drift, op, object, "run 'heddle explain ID' to see what differs")
		},
	}
}

func newAudit(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "audit", GroupID: groupHealth, Args: withArgs(),
		Short:   "Compare ledger, kernel and containers",
		Long:    "audit lists what is left over in the kernel, what is missing there, endpoints\nwhose container is gone or in quarantine, devices that containers have made for\nthemselves on a LAN, and operations that are not finished. It repairs nothing; an\nendpoint that Docker has just moved into its container is completed first. The exit\ncode is 1 when there is anything.",
		Example: "  heddle audit",
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer s.showProgress("auditing")()
			all, err := s.client().Audit(cmd.Context())
			if err != nil {
				return err
			}
			return s.emitFindings(all, heddle.AuditFound, "audit host", "", "run 'heddle gc' to remove what belongs to nobody")
		},
	}
}

// emitFindings writes the findings, and returns an error if there are any.
func (s *session) emitFindings(all []heddle.Finding, code heddle.Code, op, object, remedy string) error {
	err := s.emit("FindingList", listOf(all), func(w io.Writer) error { return s.findingTable(w, all) })
	if err != nil || len(all) == 0 {
		return err
	}
	cause := fmt.Sprintf("there are %d findings", len(all))
	if len(all) == 1 {
		cause = "there is 1 finding"
	}
	return heddle.Errorf(code, op, object, cause, remedy)
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
