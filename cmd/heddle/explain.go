package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/doctor"
	"github.com/heddle-network/heddle/mode"
)

func newExplain(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "explain ID[/IF] | ERROR | CHECK", GroupID: groupHealth, Args: withArgs("ID"),
		ValidArgsFunction: s.completeFrom(s.explainNames),
		Short:             "Explain an endpoint, an error id, or a check of the doctor",
		Long: `explain prints an endpoint as the commands a person could type to make it, and
marks where the kernel has something else. For an error id, such as HDL-2007, it
tells what the error means and what to do, and for a check of 'heddle doctor',
such as forward-drop, what it looks at; that works without the agent. An endpoint
with the name of a check is explained as ID/IF.`,
		Example: "  heddle explain web\n  heddle explain HDL-2007\n  heddle explain forward-drop",
		RunE: func(cmd *cobra.Command, args []string) error {
			if code := strings.ToUpper(args[0]); strings.HasPrefix(code, "HDL-") {
				return s.explainError(heddle.Code(code))
			}
			if c, known := doctor.Find(doctor.Checks(mode.All()), args[0]); known {
				return s.explainedCheck(c)
			}
			id, err := heddle.ParseEndpointID(args[0])
			if err != nil {
				return err
			}
			defer s.showProgress("looking at the kernel")()
			x, err := s.client().Explain(cmd.Context(), id)
			if err != nil {
				return err
			}
			x.Commands, x.Drift = append([]string{}, x.Commands...), append([]heddle.Finding{}, x.Drift...)
			return s.emit("ExplainedEndpoint", x, func(w io.Writer) error { return s.explainedEndpoint(w, x) })
		},
	}
}

// explainedEndpoint writes a script with the drift as comments.
func (s *session) explainedEndpoint(w io.Writer, x heddle.Explained) error {
	_ = printLine(w, "%s\n", s.colour(w, bold, fmt.Sprintf("# endpoint %s on network %s", x.Endpoint.ID, x.Endpoint.NetworkName)))
	for _, c := range x.Commands {
		fmt.Fprintln(w, c)
	}
	if len(x.Commands) == 0 {
		fmt.Fprintln(w, "# nothing is made in this mode")
	}
	for _, f := range x.Drift {
		text := fmt.Sprintf("# DRIFT %s: %s", f.Kind, f.Object)
		if f.Detail != "" {
			text += ": " + f.Detail
		}
		_ = printLine(w, "%s\n", s.colour(w, red, text))
	}
	if len(x.Drift) == 0 {
		fmt.Fprintln(w, s.colour(w, green, "# no drift"))
	}
	return nil
}

// explainedError is the document of an error id.
type explainedError struct {
	ID heddle.Code `json:"id"`
	heddle.Explanation
}

func (s *session) explainError(code heddle.Code) error {
	x, known := heddle.Explain(code)
	if !known {
		return heddle.Errorf(heddle.BadArgument, "explain error", string(code), "there is no such error id",
			"copy the id from an error, such as HDL-2007")
	}
	return s.emit("ExplainedError", explainedError{code, x}, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s  %s (exit code %d)\n\n%s\n\nWhat to do: %s\n", s.colour(w, bold, string(code)), x.Title, x.Kind, x.Reason, x.Remedy)
		return err
	})
}
