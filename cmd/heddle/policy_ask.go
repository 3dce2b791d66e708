package main

import (
	"context"
	"io"
	"net/netip"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/policy"
)

func newPolicyTest(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "test SRC DST SERVICE", Args: withArgs("SRC", "DST", "SERVICE"),
		ValidArgsFunction: s.completeFrom(s.endpointIDs, s.endpointIDs, func() []string { return []string{"tcp/", "udp/", "sctp/", "icmp/echo-request"} }),
		Short:             "Say whether a connection is allowed, and by which rule",
		Long: `test answers whether SRC may begin a connection to DST. Both are endpoints, or IP
addresses; SERVICE is tcp/PORT, udp/PORT, sctp/PORT or icmp/TYPE. Nothing is sent. The
answer is that of the policies alone: for each IP version that both ends have, and at
the ports of both. Either answer is a success: the exit code is 0.`,
		Example: "  heddle policy test web db tcp/5432\n  heddle policy test 192.0.2.7 db icmp/echo-request -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			q := policy.Question{Service: args[2]}
			if _, err := policy.ParseService(q.Service); err != nil {
				return err
			}
			for i, to := range []*string{&q.Src, &q.Dst} {
				var err error
				if *to, err = s.party(cmd.Context(), args[i]); err != nil {
					return err
				}
			}
			answers, err := s.client().TestPolicies(cmd.Context(), q)
			if err != nil {
				return err
			}
			return s.emit("PolicyAnswerList", listOf(answers), func(w io.Writer) error {
				for _, a := range answers {
					verdict := "denied"
					if a.Allowed {
						verdict = "allowed"
					}
					if err := printLine(w, "%s: %s from %s to %s\n", verdict, q.Service, a.Src, a.Dst); err != nil {
						return err
					}
					for _, step := range a.Steps {
						if err := printLine(w, "  %s of %s: %s\n", string(step.Direction), s.briefID(step.Endpoint), step.Why()); err != nil {
							return err
						}
					}
				}
				return nil
			})
		},
	}
}

// party is the word of a person for an end of a connection, as the agent takes it.
func (s *session) party(ctx context.Context, word string) (party string, err error) {
	if _, err := netip.ParseAddr(word); err == nil {
		return word, nil
	}
	err = s.onEndpoint(ctx, word, toShow, func(id heddle.EndpointID) error {
		party = id.String()
		_, err := s.client().Endpoint(ctx, id)
		return err
	})
	return party, err
}
