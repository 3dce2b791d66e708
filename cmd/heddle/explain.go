package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/doctor"
	"github.com/heddle-network/heddle/mode"
)

func newExplain(s *session) *cobra.Command {
	network := false
	cmd := &cobra.Command{
		Use: "explain ID[/IF] | NETWORK | ERROR | CHECK", GroupID: groupHealth, Args: withArgs("ID"),
		ValidArgsFunction: s.completeFrom(s.explainNames),
		Short:             "Explain an endpoint, a network, an error id, or a check of the doctor",
		Long: `explain prints an endpoint, or what the endpoints of a network share on this host,
as the commands a person could type to make it, and marks where the kernel has
something else. For an error id, such as HDL-2007, it tells what the error means and
what to do, and for a check of 'heddle doctor', such as forward-drop, what it looks
at; that works without the agent.

A check comes before an endpoint, and an endpoint before a network. An endpoint with
the name of a check is explained as ID/IF, a network with the name of either with
--network.`,
		Example: `  heddle explain web
  heddle explain front
  heddle explain --network front
  heddle explain HDL-2007
  heddle explain forward-drop`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if network {
				return s.explainNetwork(cmd.Context(), args[0])
			}
			if code := strings.ToUpper(args[0]); strings.HasPrefix(code, "HDL-") {
				return s.explainError(heddle.Code(code))
			}
			if c, known := doctor.Find(doctor.Checks(mode.All()), args[0]); known {
				return s.explainedCheck(c)
			}
			return s.explainObject(cmd.Context(), args[0])
		},
	}
	cmd.Flags().BoolVar(&network, "network", false, "it is the name of a network")
	return cmd
}

// explainObject explains the endpoint that the word names, or else the network. A network's whole
// name comes before the beginning of an endpoint's id.
func (s *session) explainObject(ctx context.Context, word string) error {
	mayBeNetwork := heddle.CheckNetworkName(word) == nil
	if mayBeNetwork && s.hasNetwork(ctx, word) {
		if !s.hasEndpoint(ctx, word) {
			return s.explainNetwork(ctx, word)
		}
		s.note("a network has this name, too: 'heddle explain --network %s'", word)
	}
	done := s.showProgress("looking at the kernel")
	var x heddle.Explained
	err := s.onEndpoint(ctx, word, toShow, func(id heddle.EndpointID) (err error) {
		x, err = s.client().Explain(ctx, id)
		return err
	})
	done()
	if mayBeNetwork && errors.Is(err, heddle.NoEndpoint.Sentinel()) {
		if other := s.explainNetwork(ctx, word); !errors.Is(other, heddle.NoNetwork.Sentinel()) {
			return other
		}
	}
	if err != nil {
		return err
	}
	x.Commands, x.Drift = append([]string{}, x.Commands...), append([]heddle.Finding{}, x.Drift...)
	return s.emit("ExplainedEndpoint", x, func(w io.Writer) error {
		title := fmt.Sprintf("# endpoint %s on network %s", x.Endpoint.ID, x.Endpoint.NetworkName)
		return s.explained(w, title, x.Commands, x.Drift)
	})
}

func (s *session) hasNetwork(ctx context.Context, name string) bool {
	_, err := s.client().Network(ctx, name)
	return err == nil
}

func (s *session) hasEndpoint(ctx context.Context, word string) bool {
	id, err := heddle.ParseEndpointID(word)
	if err == nil {
		_, err = s.client().Endpoint(ctx, id)
	}
	return err == nil
}

func (s *session) explainNetwork(ctx context.Context, word string) error {
	defer s.showProgress("looking at the kernel")()
	var x heddle.ExplainedNetwork
	err := s.onNetwork(ctx, word, toShow, func(name string) (err error) {
		x, err = s.client().ExplainNetwork(ctx, name)
		return err
	})
	if err != nil {
		return err
	}
	x.Drift = append([]heddle.Finding{}, x.Drift...)
	return s.emit("ExplainedNetwork", x, func(w io.Writer) error {
		return s.explained(w, fmt.Sprintf("# network %s, mode %s", x.Network.Name, x.Network.Mode), x.Commands, x.Drift)
	})
}

// explained writes a script with the drift as comments.
func (s *session) explained(w io.Writer, title string, commands []string, drift []heddle.Finding) error {
	_ = printLine(w, "%s\n", s.colour(w, bold, title))
	for _, c := range commands {
		fmt.Fprintln(w, c)
	}
	if len(commands) == 0 {
		fmt.Fprintln(w, "# nothing is made in this mode")
	}
	for _, f := range drift {
		text := fmt.Sprintf("# DRIFT %s: %s", f.Kind, f.Object)
		if f.Detail != "" {
			text += ": " + f.Detail
		}
		_ = printLine(w, "%s\n", s.colour(w, red, text))
	}
	if len(drift) == 0 {
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
