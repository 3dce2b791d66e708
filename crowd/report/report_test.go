package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/link"
	"github.com/heddle-network/heddle/crowd/round"
	"github.com/heddle-network/heddle/crowd/tally"
	"github.com/heddle-network/heddle/impair"
)

// one is a round in which people waited for so long, unless nobody did.
func one(number int, mode, invalid string, waited time.Duration) Round {
	r := Round{Number: number, Round: round.Round{Mode: mode, Invalid: invalid}}
	if waited > 0 {
		r.Actions = map[string]tally.Steps{"web.page": {Planned: tally.Durations{Count: 1, P50: waited}}}
	}
	return r
}

func pageWait(r Round) (float64, bool) {
	a, has := r.Actions["web.page"]
	return float64(a.Planned.P50), has
}

// TestFigures: invalid rounds count where there are no others, and ratios are of rounds that have both modes.
func TestFigures(t *testing.T) {
	r := Report{Seed: 1, Modes: []string{"bridge", "routed", "macvlan", "overlay"}, Rounds: []Round{
		one(1, "bridge", "", 100), one(1, "routed", "", 50), one(1, "macvlan", "late", 7),
		one(2, "routed", "", 150), one(2, "macvlan", "late", 9), one(2, "bridge", "late", 900),
		one(3, "macvlan", "late", 8), one(3, "bridge", "", 200), one(3, "routed", "", 0),
		one(4, "bridge", "", 300), one(4, "routed", "", 90),
	}}
	for mode, want := range map[string]float64{"bridge": 200, "routed": 90, "macvlan": 8} {
		if got, ok := r.Median(mode, pageWait); !ok || got != want || r.Valid(mode) != (mode != "macvlan") {
			t.Errorf("%s: %v, %v, valid %v", mode, got, ok, r.Valid(mode))
		}
	}
	if got, ok := r.Median("overlay", pageWait); ok || r.Valid("overlay") {
		t.Errorf("a mode that was not played has %v", got)
	}
	if two := (Report{Modes: []string{"bridge", "warp"}, LeftOut: map[string]string{"warp": "unknown"}, Rounds: r.Rounds[:6]}); two.Lacks(two.Modes, 2) || !two.Lacks(two.Modes, 3) || two.Lacks([]string{"bridge"}, 1) || two.Numbers() != 2 {
		t.Errorf("%d rounds are there", two.Numbers())
	}
	ratio, ok := r.Ratio("routed", "bridge", pageWait) // rounds 1 and 4 have both
	if !ok || ratio.N != 2 || ratio.Low < 0.29 || ratio.High > 0.51 || ratio.Median < 0.39 || ratio.Median > 0.41 {
		t.Errorf("%+v, %v", ratio, ok)
	}
}

// TestOnLinks: what was lost is a share, also where copies are lost.
func TestOnLinks(t *testing.T) {
	var r Round
	_, lost := r.LostOnLinks()
	if _, missed := r.MissedOnLinks(); lost || missed {
		t.Error("nobody has a link, and frames are lost")
	}
	r.OnLinks = &link.Count{Count: impair.Count{Frames: 100, Duplicated: 100, Overflown: 150, Refused: 50}}
	if share, ok := r.LostOnLinks(); !ok || share != 1 {
		t.Errorf("lost: %v, %v", share, ok)
	}
	if share, ok := r.MissedOnLinks(); !ok || share != 0 {
		t.Errorf("missed: %v, %v", share, ok)
	}
	r.OnLinks.Missed = 300
	if share, ok := r.MissedOnLinks(); !ok || share != 0.75 {
		t.Errorf("missed: %v, %v", share, ok)
	}
}

// TestRead refuses what is no report.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{"{": "unexpected end", "{}": "no rounds", `{"rounds":[{"number":1,"mode":"bridge"}]}`: ""} {
		file := filepath.Join(t.TempDir(), "report.json")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Read(file)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
