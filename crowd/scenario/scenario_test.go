package scenario_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/draw"
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
	if _, err := scenario.Example("../services"); !errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), "choose from evening, office, small") {
		t.Error(err)
	}
}

// TestSources: each number of a behaviour that is built in has its source beside it, above it, or is said to be a guess.
func TestSources(t *testing.T) {
	files, err := filepath.Glob("behaviours/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var above []string // the lines in which this one is, and a comment before it
		for i, line := range strings.Split(string(text), "\n") {
			words, _, said := strings.Cut(line, "#")
			for len(above) > 0 && indentation(above[len(above)-1]) >= indentation(line) && strings.TrimSpace(words) != "" {
				if last := above[len(above)-1]; strings.TrimLeft(last, " ")[0] == '#' && indentation(last) == indentation(line) {
					said = true
				}
				above = above[:len(above)-1]
			}
			for _, a := range above {
				said = said || strings.Contains(a, "#")
			}
			if number.MatchString(words) && !certain.MatchString(words) && !said {
				t.Errorf("%s:%d: %q has no source", file, i+1, line)
			}
			if strings.TrimSpace(line) != "" {
				above = append(above, line)
			}
		}
	}
}

var (
	number  = regexp.MustCompile(`[:\[] *[{\[]?.*[0-9]`)
	certain = regexp.MustCompile(`next: \{\w+: 1\} *$|connections: [01] *$`)
)

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func TestRead(t *testing.T) {
	_, err := scenario.Read(filepath.Join(t.TempDir(), "none.yaml"))
	if !errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
	large := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(large, []byte(strings.Repeat("# no end\n", 200_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err = scenario.Read(large); err == nil || !strings.Contains(err.Error(), "larger than 1048576 bytes") {
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
	for elapsed, want := range map[time.Duration]string{0: "Sun 23:30:00", 15 * time.Minute: "Mon 00:00:00", time.Hour: "Mon 01:30:00"} {
		if got := s.Clock.At(elapsed).String(); got != want {
			t.Errorf("after %v it is %s, not %s", elapsed, got, want)
		}
	}
	at := func(day int, clock time.Duration) float64 {
		return two.Schedule.Weight(scenario.Moment(time.Duration(day)*24*time.Hour+clock), scenario.Shift{})
	}
	for _, c := range []struct {
		day   int
		clock time.Duration
		want  float64
	}{
		{0, 22 * time.Hour, 1},               // Monday
		{1, 5 * time.Hour, 1},                // its night
		{1, 6 * time.Hour, 0},                // is over
		{1, 23 * time.Hour, 0},               // Tuesday is free
		{2, 5 * time.Hour, 0},                // with its night
		{5, 75 * time.Minute, 0},             // lunch
		{5, 90 * time.Minute, 1},             //
		{6, 21*time.Hour + 59*60*1e9, 0},     //
		{3, 1*time.Hour + 45*60*1e9, 1},      // Wednesday's night
		{4, 12 * time.Hour, 0},               //
		{0, 1*time.Hour + 29*time.Minute, 0}, // lunch in Sunday's night
	} {
		if got := at(c.day, c.clock); got != c.want {
			t.Errorf("day %d at %v: %v, not %v", c.day, c.clock, got, c.want)
		}
	}
}

// TestRefused: what is wrong is told with its line, its key, and what to do.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ old, changed, want string }{
		{"seed: 3", "sede: 3", "line 2: unknown key sede"},
		{"seed: 3", "seed: [", "did not find expected"},
		{"users: 5", "users: 0", "line 3, users: 0 is no number of users; give 1 to 1000000"},
		{"users: 5", "users: 1000001", "line 3, users"},
		{"users: 5", "users: 1000000", "line 3, users: all of them would do up to"},
		{"crowd: good", "crowd: Good Crowd", "line 1, crowd: it is no name"},
		{"length: 90m, ", "", "line 4, clock.length: it is missing; give one such as 30m"},
		{"90m", "8d", `line 4, clock.length: "8d" is no length`},
		{"90m", "169h", `line 4, clock.length: "169h" is no length of a crowd; give 1s to 168h0m0s`},
		{"Sun 23:30", "Sunday", `line 4, clock.start: "Sunday" is no time of the week; give one such as "Mon 08:00"`},
		{"compress: 2", "compress: 9999", "line 4, clock.day.compress: it is too fast"},
		{"compress: 2", "compress: 1.5", `line 4, clock.day.compress: "1.5" is not a whole number`},
		{"60%", "61%", "line 5, personas: the shares add up to 101%; give shares that add up to 100%"},
		{"60%", "160%", `line 6, personas.one.share: "160%" is not a share`},
		{"2/m", "2 per minute", `line 6, personas.one.does.browse: "2 per minute" is not a rate such as 6/h`},
		{"2/m", "3601/h", "is not a rate"},
		{"2/m", "-1/h", "is not a rate"},
		{"browse:", "browsing:", "line 6, personas.one.does.browsing: there is no such behaviour; choose from browse, call, chat"},
		{"fri-mon", "friday-mon", `line 7, personas.two.schedule.days: "friday-mon" is no weekday`},
		{"22:00-06:00", "22-6", `line 7, personas.two.schedule.hours: "22-6 +-20m" are no hours`},
		{"+-20m", "+-20", "are no hours"},
		{"tinker: 12/d", "call: 1/h", "line 9, behaviours.tinker: no persona does it"},
		{"start: work", "start: sleep", `line 10, behaviours.tinker.start: "sleep" is none of its states; choose from rest, work`},
		{"patience: 3s", "patience: 3", `line 11, behaviours.tinker.patience: "3" is not a duration such as 12s`},
		{"do: files.get", "do: files.delete", `line 14, behaviours.tinker.states.work.do: "files.delete" is no action; choose from chat.connect`},
		{"do: files.get", "", "states.work: without do it is a pause"},
		{"mean: 10KB", "mean: 10Kbit", "line 15, behaviours.tinker.states.work.receives.lognormal.mean: \"10Kbit\" is not a number of bytes"},
		{"mean: 10KB", "mean: 0", "line 15, behaviours.tinker.states.work.receives.lognormal.mean: it is 0; give a number above it"},
		{"mean: 10KB, ", "", "line 15, behaviours.tinker.states.work.receives.lognormal: it has 1 parameters; give median sigma"},
		{"deviation", "sigma", "line 15, behaviours.tinker.states.work.receives.lognormal.sigma: there is no such parameter; give mean deviation"},
		{"max: 1MiB", "most: 1MiB", "there is no law and no option most; give a value, or one of exponential"},
		{"max: 1MiB", "exponential: 2KB", "it is a second law; give one of them"},
		{"max: 1MiB", "min: 2MiB, max: 1MiB", "line 15, behaviours.tinker.states.work.receives: its min is above its max; exchange them"},
		{"per-user: 0.5", "per-user: 4", "receives.per-user: it is too much"},
		{"lognormal: {mean: 10KB, deviation: 3KB}, ", "", "it has no law"},
		{"0.5: 1s, 1: 10s", "0.5: 1s, 0.9: 10s", "its last probability is 0.9; end with 1, and the largest value"},
		{"0.5: 1s, 1: 10s", "0.5: 1s, 0.4: 10s", "it is no probability above the one before"},
		{"0.5: 1s, 1: 10s", "0.5: 11s, 1: 10s", "it is below the quantile before; give rising values"},
		{"expect:", "lasts: 3s\n        expect:", "states.work: a step either lasts, or is expected to take a time"},
		{"expect:", "every: 3s\n        expect:", "states.work.every: what is repeated by the clock must end; give lasts"},
		{"expect:", "every: {exponential: 3s}\n        lasts:", "line 16, behaviours.tinker.states.work.every: it may be drawn too short"},
		{"expect:", "mistakes: {way: {chance: 1%, again: 1s}}\n        expect:", "line 16, behaviours.tinker.states.work.mistakes.way: there is no such mistake; choose from name, password"},
		{"end: 0.5", "ende: 0.5", "line 17, behaviours.tinker.states.work.next.ende: there is no such state; choose from rest, work, end"},
		{", end: 0.5", "", "states.rest.next: no way leads from it to the end; give end a weight in its next"},
		{"end: 0.5", "end: 0", "no way leads from it to the end"},
		{"rest: 1, end: 0.5", "end: 0.5", "line 18, behaviours.tinker.states.rest: no way leads to it from work"},
		{"personas:", "services: {gopher: {sites: 3}}\npersonas:", "line 5, services.gopher: there is no such service; choose from chat"},
		{"personas:", "services: {web: {sites: 3, between: 3}}\npersonas:", "line 5, services.web.between: groups of users"},
	} {
		text := strings.Replace(good, c.old, c.changed, 1)
		_, err := scenario.Parse([]byte(text))
		if text == good || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q instead of %q: %v, and not %q", c.changed, c.old, err, c.want)
		}
	}
}

// TestCurve: between two times of a curve the line is straight, also past midnight.
func TestCurve(t *testing.T) {
	s, err := scenario.Parse([]byte(strings.Replace(good, "lunch: 01:00-01:30", `curve: {"00:00": 100%, "06:00": 20%, "22:00": 50%}`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for clock, want := range map[time.Duration]float64{0: 1, 3 * time.Hour: 0.6, 22 * time.Hour: 0.5, 23 * time.Hour: 0.75} {
		if got := s.Personas["two"].Schedule.Weight(scenario.Moment(clock), scenario.Shift{}); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("at %v: %v, not %v", clock, got, want)
		}
	}
}

// TestShift: each user's hours begin and end within the spread.
func TestShift(t *testing.T) {
	s, err := scenario.Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	low, high := time.Hour, -time.Hour
	stream := draw.NewStream(1)
	for range 1000 {
		shift := s.Personas["two"].Schedule.Shift(stream)
		low, high = min(low, shift.From, shift.To), max(high, shift.From, shift.To)
	}
	if low < -20*time.Minute || high > 20*time.Minute || low > -19*time.Minute || high < 19*time.Minute {
		t.Errorf("shifts lie from %v to %v", low, high)
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
