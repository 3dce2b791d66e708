package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/events"
)

func newEvents(s *session) *cobra.Command {
	var q client.EventQuery
	follow := true
	cmd := &cobra.Command{
		Use: "events", GroupID: groupHealth, Args: withArgs(),
		Short: "Watch what happens to networks, endpoints, peers and paths",
		Long: `events prints what happens on this host, an event a line, until it is interrupted:

  network   created, updated, removed; also by the cluster
  endpoint  attached, updated, detached
  peer      created, updated, removed: another host of the cluster
  path      up, down: the way to another host
  trouble   began, updated, ended: a part of the status that is not ok

The agent keeps its last events (4096 at most) until it ends. --since has those after
a cursor, of a duration before now, or all; with --follow=false it prints them (all,
without --since) and ends. Each event of -o json, one a line, has its cursor. If
events after a cursor are not kept any more, the error is HDL-4009: then begin to
watch, and list anew what there is. Peers, paths and troubles are looked at every
second, and every ten seconds while nobody watches.`,
		Example: "  heddle events --follow=false\n  heddle events --since 10m --follow=false --filter kind=endpoint --filter network=front\n" +
			"  heddle events --since all --follow=false --filter label=tier=web -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q.Once = !follow
			err := s.watchEvents(cmd, q)
			if cmd.Context().Err() != nil {
				return nil // the normal end
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&q.Since, "since", "", "begin after a `cursor`, with a duration before now such as 10m, or with all that is kept; by default with what is to come")
	f.BoolVar(&follow, "follow", true, "go on with what is to come")
	s.filterFlag(cmd, &q.Filter, filterKeys{"kind": eventKinds, "network": s.networkNames})
	cmd.RegisterFlagCompletionFunc("since", cobra.FixedCompletions([]string{events.SinceAll, "10m", "1h"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (s *session) watchEvents(cmd *cobra.Command, q client.EventQuery) error {
	stream, err := s.client().Events(cmd.Context(), q)
	if err != nil {
		return err
	}
	return s.printStream(stream, s.eventLine)
}

// printStream prints the events of a stream to its end; line writes one for people.
func (s *session) printStream(stream *client.EventStream, line func(io.Writer, events.Event) error) error {
	defer stream.Close()
	for {
		e, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = s.emitEvent(e, line)
		}
		if err != nil {
			return err
		}
	}
}

// emitEvent writes an event on one line; in YAML, as a document of a stream.
func (s *session) emitEvent(e events.Event, line func(io.Writer, events.Event) error) error {
	body := map[string]events.Event{"event": e} // the event's kind must not be taken for the document's
	switch s.format {
	case formatTable, formatWide:
		return line(s.stdout, e)
	case formatYAML:
		if _, err := io.WriteString(s.stdout, "---\n"); err != nil {
			return err
		}
		return writeDocument(s.stdout, s.format, "Event", body)
	}
	doc, err := document("Event", body)
	if err != nil {
		return err
	}
	_, err = s.stdout.Write(append(escaped(doc, s.format), '\n'))
	return err
}

// eventLine is an event for people.
func (s *session) eventLine(w io.Writer, e events.Event) error {
	var more []string
	if e.Network != "" && e.Kind != events.Network {
		more = append(more, "network "+e.Network)
	}
	if e.Detail != "" {
		more = append(more, e.Detail)
	}
	if len(e.Labels) > 0 {
		more = append(more, "labels "+heddle.LabelText(e.Labels))
	}
	rest := strings.Join(more, "; ")
	if rest != "" {
		rest = ": " + rest
	}
	return printLine(w, "%s  %s %s %s%s\n", formatTime(e.Time), string(e.Kind), string(e.Action), e.Object, rest)
}

func eventKinds() (all []string) {
	for _, k := range events.Kinds() {
		all = append(all, string(k))
	}
	return all
}
