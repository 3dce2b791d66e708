package picture

import (
	"encoding/xml"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/round"
	"github.com/heddle-network/heddle/crowd/tally"
)

// of is a round in which 99 of a hundred steps of some actions were served within a time.
func of(number int, mode string, waits map[string]time.Duration) report.Round {
	all := map[string]tally.Steps{}
	for action, p99 := range waits {
		all[action] = tally.Steps{Count: 100, Planned: tally.Durations{Count: 100, P50: p99 / 2, P99: p99}}
	}
	return report.Round{Number: number, Round: round.Round{Mode: mode, Users: 10, Result: tally.Result{Actions: all}}}
}

func drawn(t *testing.T, r report.Report) string {
	t.Helper()
	svg, err := SVG(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal([]byte(svg), new(struct{ XMLName xml.Name })); err != nil {
		t.Errorf("%v\n%s", err, svg)
	}
	return svg
}

// TestSVG: each action that people waited for has a mark for each mode, from left to right by how long they waited, and a
// line from the least to the most of all rounds. The same is told in words.
func TestSVG(t *testing.T) {
	r := report.Report{Crowd: "some", Seed: 7, Users: 10, Length: time.Minute, Modes: []string{"bridge", "routed"}, Rounds: []report.Round{
		of(1, "bridge", map[string]time.Duration{"web.page": 10 * time.Millisecond, "shell.key": time.Millisecond, "mistake.name": time.Second}),
		of(1, "routed", map[string]time.Duration{"web.page": 20 * time.Millisecond}),
		of(2, "bridge", map[string]time.Duration{"web.page": 30 * time.Millisecond, "shell.key": time.Millisecond}),
		of(2, "routed", map[string]time.Duration{"web.page": 40 * time.Millisecond}),
	}}
	svg := drawn(t, r)
	if got := strings.Count(svg, "<path transform="); got != 2+3 { // those of the legend, and of the rows
		t.Errorf("%d marks", got)
	}
	for _, want := range []string{"shell.key: bridge 1ms; web.page: bridge 20ms, routed 30ms.", ">10ms<", "2 rounds of 1m0s", "How long 10 people waited"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is not there", want)
		}
	}
	if strings.Contains(svg, "mistake") {
		t.Error("nobody waits for a mistake")
	}
	s := scaleOf(rowsOf(r))
	if fast, slow := s.x(1e6), s.x(30e6); fast < labelWide+edge || slow <= fast || slow > wide-edge {
		t.Errorf("1 ms is at %.0f, 30 ms at %.0f of %d", fast, slow, wide)
	}
}

// TestOneValue: a scale has two marks at least, also for one value.
func TestOneValue(t *testing.T) {
	for _, wait := range []time.Duration{1, 999, time.Microsecond, 7 * time.Millisecond, time.Hour} {
		r := report.Report{Modes: []string{"bridge"}, Rounds: []report.Round{of(1, "bridge", map[string]time.Duration{"web.page": wait})}}
		drawn(t, r)
		if s := scaleOf(rowsOf(r)); len(s.ticks()) < 2 || s.x(float64(wait)) < labelWide {
			t.Errorf("%v: %v", wait, s.ticks())
		}
	}
}

// TestNothingToDraw: a report without waits, or with too many modes, is refused.
func TestNothingToDraw(t *testing.T) {
	none := report.Report{Modes: []string{"bridge"}, Rounds: []report.Round{of(1, "bridge", nil)}}
	many := report.Report{Modes: []string{"a", "b", "c", "d", "e", "f"}}
	for _, m := range many.Modes {
		many.Rounds = append(many.Rounds, of(1, m, map[string]time.Duration{"web.page": 1}))
	}
	for _, r := range []report.Report{none, many} {
		if svg, err := SVG(r); err == nil {
			t.Errorf("%s", svg)
		}
	}
}

// TestEscaped: what somebody wrote into a report is text.
func TestEscaped(t *testing.T) {
	drawn(t, report.Report{Crowd: `<script>"&`, Modes: []string{"<b>"}, Rounds: []report.Round{of(1, "<b>", map[string]time.Duration{"<i>": time.Second})}})
}

var update = flag.Bool("update", false, "write README's picture anew")

// TestPublished: README's picture is that of the report beside it, which 'heddle crowd run' wrote. It has the rounds of all modes, and
// all are valid.
func TestPublished(t *testing.T) {
	const file = "../../docs/guides/lxc2019-crowd"
	r, err := report.Read(file + ".json")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range r.Modes {
		if rounds := r.Of(m); len(rounds) != r.Numbers() || !r.Valid(m) {
			t.Errorf("mode %s has %d valid rounds of %d", m, len(rounds), r.Numbers())
		}
	}
	svg := drawn(t, r)
	if *update {
		if err := os.WriteFile(file+".svg", []byte(svg), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file + ".svg"); err != nil || string(have) != svg {
		t.Errorf("another picture is there: make generate (%v)", err)
	}
}
