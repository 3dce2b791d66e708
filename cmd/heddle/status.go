package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
)

func newStatus(s *session) *cobra.Command {
	wait, timeout := false, 30*time.Second
	cmd := &cobra.Command{
		Use: "status", GroupID: groupHealth, Args: withArgs(),
		Short: "Show the agent's health on one screen",
		Long: `status shows the agent's parts, networks and counters. The exit code is 0 when
all parts are ok or only warn, 1 when one is bad, 3 when the agent is
unreachable, and with --wait 6 when it did not become healthy in time.`,
		Example: "  heddle status\n  heddle status --wait --timeout 10s",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if timeout <= 0 {
				return heddle.Errorf(heddle.BadArgument, "read flag", "--timeout", timeout.String()+" is not above zero",
					"give a duration, such as 30s")
			}
			look := s.client().Status
			if wait {
				look = s.waitHealthy(timeout)
			}
			st, err := look(cmd.Context())
			if err != nil {
				return err
			}
			if err := s.emit("Status", st, func(w io.Writer) error { return s.statusScreen(w, st) }); err != nil {
				return err
			}
			if !healthy(st) {
				return exitCode(heddle.Failed)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the agent is healthy")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long to wait")
	return cmd
}

func healthy(st heddle.Status) bool {
	for _, p := range st.Parts {
		if p.State == "bad" {
			return false
		}
	}
	return st.Ready
}

// maxNetworksShown is how many networks the screen shows; the document has all.
const maxNetworksShown = 12

func (s *session) statusScreen(w io.Writer, st heddle.Status) error {
	verdict := s.colour(w, green, "healthy")
	if !healthy(st) {
		verdict = s.colour(w, red, "not healthy")
	}
	up := time.Duration(st.UpSeconds) * time.Second
	_ = printLine(w, "%s: %s, up %s (heddle %s, kernel %s)\n\n", s.colour(w, bold, st.Host), verdict, up, st.Version, st.Kernel)
	if err := s.partTable(w, st.Parts); err != nil {
		return err
	}
	if err := s.useTable(w, st.Networks); err != nil {
		return err
	}
	err := printLine(w, "\nendpoints: %d · dropped packets: %s · objects put back: %d\n", st.Endpoints, formatDrops(st.Drops), st.Repairs)
	return err
}

func (s *session) partTable(w io.Writer, parts []heddle.PartStatus) error {
	colours := map[string]string{"ok": green, "warn": yellow, "bad": red}
	var rows [][]string
	for _, p := range parts {
		rows = append(rows, []string{p.Name, s.colour(w, colours[p.State], p.State), p.Detail})
	}
	return writeTable(w, s.width(), []string{"part", "state", "detail"}, rows)
}

func (s *session) useTable(w io.Writer, all []heddle.NetworkStatus) error {
	if len(all) == 0 {
		return nil
	}
	var rows [][]string
	for _, n := range all[:min(len(all), maxNetworksShown)] {
		rows = append(rows, []string{n.Name, n.Mode, fmt.Sprint(n.Endpoints), formatFree(n.Free)})
	}
	fmt.Fprintln(w)
	err := writeTable(w, s.width(), []string{"network", "mode", "endpoints", "free addresses"}, rows)
	if more := len(all) - maxNetworksShown; more > 0 {
		fmt.Fprintf(w, "and %d more ('heddle status -o json')\n", more)
	}
	return err
}

func formatFree(n int64) string {
	switch {
	case n < 0:
		return ""
	case n >= 1<<53:
		return "plenty"
	default:
		return fmt.Sprint(n)
	}
}

func formatDrops(drops map[string]uint64) string {
	var out []string
	for _, reason := range firewall.DropReasons {
		if n := drops[reason]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, reason))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}
