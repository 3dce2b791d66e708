package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ping"
)

// pinged is a ping with what became of it, as a document.
type pinged struct {
	Path    *ping.Path   `json:"path,omitempty"`
	Echoes  []ping.Echo  `json:"echoes"`
	Summary ping.Summary `json:"summary"`
}

func newPing(s *session) *cobra.Command {
	q := ping.Request{}
	interval, wait := ping.DefaultPause, ping.DefaultPause
	four, six := false, false
	cmd := &cobra.Command{
		Use: "ping SRC DST", GroupID: groupHealth, Args: withArgs("SRC", "DST"), ValidArgsFunction: s.completeFrom(s.endpointIDs, s.endpointIDs),
		Short: "Send echoes from a container, and name the path",
		Long: `ping sends echoes (ICMP, ICMPv6) from the container of the endpoint SRC, by its own
stack: its routes, the guard of its port and the policies count. The container needs
no program and no right for it. DST is an IP address, the ID of another endpoint, or a
name, which is asked where the container asks.

The first line names the path, as the agent's own records say: it is not the
container's word. What the agent does not know is unknown. Each further line is an
echo: its time, or what came instead, by the word of who has sent that.

If a name has addresses of both IP versions, the first that the container has counts.
With --full-size the packets are as large as the path's MTU, and not fragmented.
The exit code is 1 if nothing was answered; the hint says what to look at next. All
echoes together may take 15 minutes. As for attach and detach, the caller is root or
in the group of the agent's socket.`,
		Example: "  heddle ping web shop\n  heddle ping web/eth0 fd20::53 -c 2 --interval 100ms --full-size -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case four && six:
				return badCommand(cmd, "-4 and -6 are given")
			case q.FullSize && cmd.Flags().Changed("size"):
				return badCommand(cmd, "--size and --full-size are given")
			case four:
				q.Family = 4
			case six:
				q.Family = 6
			}
			q.To, q.IntervalSeconds, q.WaitSeconds = args[1], interval.Seconds(), wait.Seconds()
			err := s.onEndpoint(cmd.Context(), args[0], toShow, func(id heddle.EndpointID) error {
				q.ID = id
				return s.ping(cmd.Context(), q)
			})
			if errors.Is(err, heddle.NoEndpoint.Sentinel()) {
				return s.orElsewhere(cmd.Context(), args, err)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.IntVarP(&q.Count, "count", "c", ping.DefaultCount, "how many echoes, at most 1000")
	f.DurationVarP(&interval, "interval", "i", interval, "how long after an echo the next one follows, 10ms to 10s")
	f.DurationVarP(&wait, "wait", "W", wait, "how long an answer is waited for, 10ms to 10s")
	f.IntVarP(&q.Size, "size", "s", ping.DefaultSize, "how many `bytes` follow ICMP's header, at most 65507")
	f.BoolVar(&q.FullSize, "full-size", false, "send packets of the path's whole MTU, unfragmented")
	f.BoolVarP(&four, "ipv4", "4", false, "take addresses of IPv4 only")
	f.BoolVarP(&six, "ipv6", "6", false, "take addresses of IPv6 only")
	return cmd
}

// ping shows a ping: as text while it happens, or as one document at its end.
func (s *session) ping(ctx context.Context, q ping.Request) error {
	all := pinged{Echoes: []ping.Echo{}}
	ended := false
	err := s.client().Ping(ctx, q, func(l ping.Line) error {
		switch {
		case l.Path != nil:
			all.Path = l.Path
			return s.onText(func(w io.Writer) error { return pathLine(w, *l.Path) })
		case l.Echo != nil:
			all.Echoes = append(all.Echoes, *l.Echo)
			return s.onText(func(w io.Writer) error { return s.echoLine(w, *l.Echo, q.Wait()) })
		case l.Summary != nil:
			all.Summary, ended = *l.Summary, true
		}
		return nil
	})
	interrupted := err != nil && ctx.Err() != nil && all.Path != nil
	if err != nil && !interrupted {
		return err
	}
	if !ended {
		all.Summary = ping.Summarize(all.Echoes)
	}
	if err := s.emit("Ping", all, func(w io.Writer) error { return summaryLine(w, all.Summary) }); err != nil {
		return err
	}
	if interrupted {
		return err
	}
	if all.Summary.Received > 0 {
		return nil
	}
	return heddle.Errorf(heddle.NoAnswer, "ping from", q.ID.String()+" to "+q.To, fmt.Sprintf("of %d sent, no echo was answered", all.Summary.Sent), strings.Join(all.Summary.Advice, "; "))
}

// onText writes text while something happens; nothing if a document is wanted.
func (s *session) onText(write func(io.Writer) error) error {
	if !s.isText() {
		return nil
	}
	return write(printTo(s.stdout))
}

func pathLine(w io.Writer, p ping.Path) error {
	to := p.To.String()
	var known []string
	if p.Endpoint != (heddle.EndpointID{}) {
		known = append(known, p.Endpoint.Short())
	}
	if p.Asked != "" && p.Asked != p.Endpoint.String() {
		known = append(known, "asked as "+p.Asked)
	}
	if len(known) > 0 {
		to += " (" + strings.Join(known, ", ") + ")"
	}
	return printLine(w, "%s to %s: %s\n", p.From.Short(), to, p.Text)
}

func (s *session) echoLine(w io.Writer, e ping.Echo, wait time.Duration) error {
	text := e.String()
	if e.Outcome == ping.Unanswered {
		text += " within " + wait.String()
	}
	return printLine(w, "%d: %s\n", e.Seq, s.colour(w, map[bool]string{false: red}[e.Outcome == ping.Reply], text))
}

func summaryLine(w io.Writer, m ping.Summary) error {
	times := ""
	if m.Received > 0 {
		times = "; round trip " + ping.Milliseconds(m.MinSeconds) + " at least, " + ping.Milliseconds(m.AvgSeconds) + " on average, " + ping.Milliseconds(m.MaxSeconds) + " at most"
	}
	return printLine(w, "%d sent, %d received, %.0f%% lost%s\n", m.Sent, m.Received, m.Loss, times)
}

// orElsewhere names the host of an endpoint that this one does not have.
func (s *session) orElsewhere(ctx context.Context, args []string, err error) error {
	all, failed := s.client().EndpointsEverywhere(ctx, nil)
	if failed != nil {
		return err
	}
	here, _ := s.client().Endpoints(ctx)
	for _, e := range here {
		all = only(all, func(other heddle.Endpoint) bool { return other.ID != e.ID })
	}
	found := pickEndpoints(all, args[0], toShow)
	if id, bad := heddle.ParseEndpointID(args[0]); bad == nil {
		if exact := only(all, func(e heddle.Endpoint) bool { return e.ID == id }); len(exact) > 0 {
			found = exact
		}
	}
	if len(found) != 1 {
		return err
	}
	return heddle.Errorf(heddle.NoEndpoint, "ping from", found[0].ID.String(), "it is on host "+found[0].Host+", and echoes are sent by the agent of a container's own host",
		"run 'heddle ping "+found[0].ID.String()+" "+args[1]+"' on "+found[0].Host)
}
