package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/label"
)

func newCrowdLabels(s *session) *cobra.Command {
	var round int
	var mode, capture string
	cmd := &cobra.Command{
		Use: "labels FILE", Args: withArgs("FILE"),
		Short: "List the flows of a crowd: whose they are, and what for",
		Long: `labels lists the flows in a diary that 'heddle crowd run --diary' wrote: their addresses and
ports, when they were opened and closed, whose they are, which step opened them, and what
became of it. -o json has nanoseconds and the community ID of Zeek and Suricata.

With --check, a capture (pcap or pcapng) is held against the labels instead: each TCP and
UDP flow of a user must have exactly one. If one has none or two, the command ends with
exit code 1 (HDL-9002).`,
		Example: "  heddle crowd labels diary.jsonl -o json\n  heddle crowd labels diary.jsonl --check capture.pcapng",
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := label.Of(args[0], mode, round)
			if err != nil {
				return err
			}
			if capture != "" {
				return s.checkLabels(all, capture)
			}
			return s.emit("CrowdLabelList", listOf(all), func(w io.Writer) error {
				return writeColumns(w, s.width(), labelColumns(s.isWide()), all)
			})
		},
	}
	roundFlags(cmd, &mode, &round)
	cmd.Flags().StringVar(&capture, "check", "", "hold the capture in `FILE` against the labels")
	return cmd
}

func labelColumns(wide bool) []tableColumn[label.Label] {
	all := []tableColumn[label.Label]{
		{"round", func(l label.Label) string { return fmt.Sprintf("%d, %s", l.Round, l.Mode) }},
		{"opened", func(l label.Label) string { return l.At.Format("15:04:05.000000") }},
		{"open for", func(l label.Label) string {
			if l.Ended.IsZero() {
				return "not closed"
			}
			return shortDuration(l.Ended.Sub(l.At))
		}},
		{"protocol", func(l label.Label) string { return l.Protocol }},
		{"from", func(l label.Label) string { return l.From.String() }},
		{"to", func(l label.Label) string { return l.To.String() }},
		{"user", func(l label.Label) string { return strconv.Itoa(l.User) }},
		{"session", func(l label.Label) string { return fmt.Sprintf("%s %d, step %d", l.Behaviour, l.Session, l.Step) }},
		{"for", func(l label.Label) string { return l.Do }},
		{"outcome", func(l label.Label) string { return outcomeWord(l.Outcome) }},
	}
	if wide {
		all = append(all, tableColumn[label.Label]{"persona", func(l label.Label) string { return l.Persona }},
			tableColumn[label.Label]{"community id", func(l label.Label) string { return l.CommunityID }})
	}
	return all
}

// countSuchAs is a number of flows, and the first one.
func countSuchAs(n int, flows []string) string {
	if len(flows) == 0 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d, such as %s", n, flows[0])
}

// checkLabels says how labels and a capture fit together.
func (s *session) checkLabels(all []label.Label, capture string) error {
	f, err := os.Open(capture)
	if err != nil {
		return heddle.Wrap(heddle.BadArgument, "read capture", capture, err, "name a file that can be read")
	}
	defer f.Close()
	c, err := label.Check(all, f)
	if err != nil {
		return heddle.Wrap(heddle.BadArgument, "read capture", capture, err, "name a pcap or pcapng file")
	}
	shown := s.emit("CrowdLabelCheck", c, func(w io.Writer) error {
		return fieldTable(w, s.width(), [2]string{"packets", strconv.Itoa(c.Packets)}, [2]string{"flows with a label", strconv.Itoa(c.Flows)},
			[2]string{"flows without", strconv.Itoa(len(c.Unlabelled))}, [2]string{"flows with two", strconv.Itoa(len(c.Twice))},
			[2]string{"labels without packets", countSuchAs(c.Unseen, c.UnseenFlows)}, [2]string{"dropped for the capture", strconv.FormatUint(c.Dropped, 10)})
	})
	var wrong []string
	if n := len(c.Unlabelled); n > 0 {
		wrong = append(wrong, fmt.Sprintf("%s without a label, such as %s", heddle.Count(n, "flow"), c.Unlabelled[0]))
	}
	if n := len(c.Twice); n > 0 {
		wrong = append(wrong, fmt.Sprintf("%s with two labels, such as %s", heddle.Count(n, "flow"), c.Twice[0]))
	}
	if c.Packets == 0 {
		wrong = append(wrong, "no packet is of one of the round's users")
	}
	if wrong == nil {
		return shown
	}
	return errors.Join(shown, heddle.Errorf(heddle.CrowdFailed, "check labels", capture, heddle.List(wrong),
		"capture where and while the chosen rounds were played; nothing but the crowd may use its addresses"))
}
