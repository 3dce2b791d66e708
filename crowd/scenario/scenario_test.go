package scenario_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/scenario"
)

func TestExamples(t *testing.T) {
	used := map[string]bool{}
	for _, name := range scenario.Examples() {
		text, err := scenario.Example(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenario.Parse(text)
		if err != nil || s.Name != name {
			t.Errorf("%s: crowd %q, %v", name, s.Name, err)
		}
		if sum := scenario.Summary(text); sum == "" || strings.HasPrefix(sum, "#") || strings.HasPrefix(sum, "crowd") {
			t.Errorf("%s is about %q", name, sum)
		}
		for b := range s.Behaviours {
			used[b] = true
		}
	}
	for _, b := range scenario.BuiltInBehaviours() {
		if !used[b] {
			t.Errorf("behaviour %s is in no example", b)
		}
	}
	_, err := scenario.Example("../services")
	if !errors.Is(err, heddle.BadArgument.Sentinel()) ||
		!strings.Contains(err.Error(), "choose from evening, lxc2019-crowd, office, returning, small") {
		t.Error(err)
	}
}

func TestRead(t *testing.T) {
	_, err := scenario.Read(filepath.Join(t.TempDir(), "none.yaml"))
	if !errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
	large := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(large, []byte(strings.Repeat("# no end\n", 8000)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err = scenario.Read(large); err == nil || !strings.Contains(err.Error(), "larger than 65536 bytes") {
		t.Error(err)
	}
}

const good = `crowd: good
seed: 3
users: 5
clock: {start: "Sun 23:30", length: 90m, day: {compress: 2}}
personas:
  one: {share: 60%, does: {browse: 2/m, tinker: 12/d}}
  two: {share: 0.4, schedule: {days: "fri-mon,wed", hours: "22:00-06:00 +-20m", lunch: 01:00-01:30}, does: {call: 1/h}}
behaviours:
  tinker:
    start: work
    patience: 3s
    states:
      work:
        do: files.get
        receives: {lognormal: {mean: 10KB, deviation: 3KB}, max: 1MiB, per-user: 0.5}
        expect: {weibull: {scale: 1s, shape: 0.8}, min: 10ms}
        next: {rest: 1, end: 0.5}
      rest: {think: {quantiles: {0.5: 1s, 1: 10s}}, next: {work: 1}}
`

func TestGood(t *testing.T) {
	s, err := scenario.Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	if b := s.Behaviours; len(b) != 3 || b["tinker"].BuiltIn || !b["browse"].BuiltIn {
		t.Errorf("%+v", b)
	}
	one, two := s.Personas["one"], s.Personas["two"]
	if one.Share != 0.6 || one.Does["browse"] != 120 || one.Does["tinker"] != 0.5 || two.Share != 0.4 {
		t.Errorf("%+v, %+v", one, two)
	}
	if steps := s.Behaviours["tinker"].MeanSteps(); steps < 2.99 || steps > 3.01 {
		t.Errorf("%v steps, expected 3", steps)
	}
	// Half past eleven on Sunday is in the week's last hour; an hour later, at twice the speed, it is Monday.
	for elapsed, want := range map[time.Duration]string{
		0: "Sun 23:30:00", 15 * time.Minute: "Mon 00:00:00", time.Hour: "Mon 01:30:00"} {
		if got := s.Clock.At(elapsed).String(); got != want {
			t.Errorf("after %v it is %s, not %s", elapsed, got, want)
		}
	}
}

func TestResize(t *testing.T) {
	s, err := scenario.Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	for users, fits := range map[int]bool{-1: false, 0: false, 1: true, 10_000: true, 1_000_000: false} {
		if _, err := s.Resize(users); (err == nil) != fits {
			t.Errorf("%d users: %v", users, err)
		}
	}
}

// TestActions: all that a report may count is known before.
func TestActions(t *testing.T) {
	s, err := scenario.Parse([]byte("crowd: some\nusers: 2\nclock: {start: \"Mon 09:00\", length: 3s}\npersonas:\n  one: {share: 100%, does: {mail: 1/m, call: 1/m}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(s.Actions(), " ")
	for _, want := range []string{"dns.query", "mail.login", "mistake.password", "voice.call"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if strings.Contains(got, "web.page") {
		t.Errorf("nobody reads pages: %s", got)
	}
}
