package scenario_test

import (
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// scheduleOf is the one of persona two, after a change of its text.
func scheduleOf(t *testing.T, old, changed string) *scenario.Schedule {
	t.Helper()
	s, err := scenario.Parse([]byte(strings.Replace(good, old, changed, 1)))
	if err != nil {
		t.Fatal(err)
	}
	return s.Personas["two"].Schedule
}

func TestSchedule(t *testing.T) {
	schedule := scheduleOf(t, "", "")
	at := func(day int, clock time.Duration) float64 {
		return schedule.Weight(scenario.Moment(time.Duration(day)*24*time.Hour+clock), scenario.Shift{})
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

// TestMidnight: lunch and hours pass midnight, in both directions, and over the week's end.
func TestMidnight(t *testing.T) {
	const all = `days: "fri-mon,wed", hours: "22:00-06:00 +-20m", lunch: 01:00-01:30`
	const monday, sunday = 0, 6
	for _, c := range []struct {
		schedule string
		shift    scenario.Shift
		day      int
		clock    time.Duration
		want     float64
	}{
		{`lunch: "23:30-00:30"`, scenario.Shift{}, monday, 15 * time.Minute, 0},
		{`lunch: "23:30-00:30"`, scenario.Shift{}, monday, 30 * time.Minute, 1},
		{`lunch: "23:30-00:30"`, scenario.Shift{}, monday, 23*time.Hour + 30*time.Minute, 0},
		{`days: mon, hours: "00:10-08:00 +-1h"`, scenario.Shift{From: -40 * time.Minute}, sunday, 23*time.Hour + 30*time.Minute, 1},
		{`days: mon, hours: "00:10-08:00 +-1h"`, scenario.Shift{From: -40 * time.Minute}, sunday, 23*time.Hour + 29*time.Minute, 0},
		{`days: mon, hours: "00:10-08:00 +-1h"`, scenario.Shift{From: -40 * time.Minute}, monday, 23*time.Hour + 30*time.Minute, 0},
		{`days: sun, hours: "23:00-22:30 +-2h"`, scenario.Shift{To: 2 * time.Hour}, 1, 29 * time.Minute, 1},
		{`days: sun, hours: "23:00-22:30 +-2h"`, scenario.Shift{To: 2 * time.Hour}, 1, 30 * time.Minute, 0},
		{`days: "mon,sun-mon,sun"`, scenario.Shift{}, sunday, 0, 1},
		{`days: "mon,sun-mon,sun"`, scenario.Shift{}, 1, 0, 0},
	} {
		s := scheduleOf(t, all, c.schedule)
		at := scenario.Moment(time.Duration(c.day)*24*time.Hour + c.clock)
		if got := s.Weight(at, c.shift); got != c.want {
			t.Errorf("%s, %+v, %v: %v, not %v", c.schedule, c.shift, at, got, c.want)
		}
	}
	days := scheduleOf(t, all, `days: "mon,sun-tue,sun"`).Days
	if want := (scenario.Days{monday: true, 1: true, sunday: true}); days != want {
		t.Errorf("%v, not %v", days, want)
	}
}

// TestCurve: between two times of a curve the line is straight, also past midnight.
func TestCurve(t *testing.T) {
	curve := `curve: {"00:00": 100%, "06:00": 20%, "22:00": 50%}`
	s, err := scenario.Parse([]byte(strings.Replace(good, "lunch: 01:00-01:30", curve, 1)))
	if err != nil {
		t.Fatal(err)
	}
	weights := map[time.Duration]float64{0: 1, 3 * time.Hour: 0.6, 22 * time.Hour: 0.5, 23 * time.Hour: 0.75}
	for clock, want := range weights {
		got := s.Personas["two"].Schedule.Weight(scenario.Moment(clock), scenario.Shift{})
		if got < want-1e-9 || got > want+1e-9 {
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
