package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/policy"
)

func newFlows(s *session) *cobra.Command {
	var q client.EventQuery
	follow := false
	cmd := &cobra.Command{
		Use: "flows", GroupID: groupHealth, Args: withArgs(),
		Short: "Show what policies have refused",
		Long: `flows prints the packets that the ports of this host's endpoints have refused lately, a
packet a line: when, at whose port, in which direction, what it is, from where to
where, and which rule of which policy decided, or that none allows it. What a packet
says is the sender's word, but for a container's addresses, which the host guards.

Of each sender 20 packets are shown at once and 5 a second, so that nobody's flood
hides what is refused to others; of all together, 500 a second in each direction. The
counter 'denied' of 'heddle status' has all. A line says so when packets came faster
than the agent reads them, or it could not read them. The agent keeps the last 4096
until it ends.
--since has those after a cursor, or of a duration before now; --follow goes on with
what is to come. Policies are of mode bridge. In a VPC of the hypervisor, give --vpc.
A kernel without nft_log or nfnetlink_log tells nothing (HDL-3003).`,
		Example: "  heddle flows\n  heddle flows --since 10m --filter policy=database --filter direction=ingress\n" +
			"  heddle flows --filter label=app=web -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if q.Once = !follow; q.Since == "" {
				q.Since = events.SinceAll
			}
			stream, err := s.client().Flows(cmd.Context(), q)
			if err == nil {
				err = s.printStream(stream, s.flowLine)
			}
			if follow && cmd.Context().Err() != nil {
				return nil // the normal end
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Since, "since", "", "begin after a `cursor`, or with a duration before now such as 10m; by default with all that is kept")
	f.BoolVar(&follow, "follow", false, "go on with what is to come")
	s.filterFlag(cmd, &q.Filter, filterKeys{"direction": func() []string { return []string{string(policy.Ingress), string(policy.Egress)} },
		"endpoint": s.endpointIDs, "network": s.networkNames, "policy": s.policyWords, "protocol": policy.Protocols})
	cmd.RegisterFlagCompletionFunc("since", cobra.FixedCompletions([]string{"10m", "1h"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// flowLine is a flow for people, or what is not shown.
func (s *session) flowLine(w io.Writer, e events.Event) error {
	if e.Action == events.Missed {
		what := ""
		if e.Missed > 0 {
			what = heddle.Count(uint64(e.Missed), "refused packet") + " not shown: "
		}
		return printLine(w, "%s  %s%s\n", formatTime(e.Time), what, e.Detail)
	}
	more := []string{"network " + e.Network}
	if len(e.Labels) > 0 {
		more = append(more, "labels "+heddle.LabelText(e.Labels))
	}
	return printLine(w, "%s  %s %s %s; %s\n", formatTime(e.Time), e.Object, string(e.Action), e.Flow.String(), strings.Join(more, "; "))
}
