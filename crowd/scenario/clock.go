package scenario

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/yamlfile"
)

// Clock says which part of a week the crowd lives through.
type Clock struct {
	// Start is the day and the time at which it begins.
	Start Moment `yaml:"start"`
	// Length is how long it lasts, in true time.
	Length Span `yaml:"length"`
	Day    Day  `yaml:"day"`
}

// Day is how the day passes.
type Day struct {
	// Compress is how many hours of the day pass in an hour; 1 if it is not given. Schedules and curves go by
	// the day; rates, pauses and all else are true.
	Compress Count `yaml:"compress"`
}

// Hours and days of a week that begins on Monday, as time since its midnight.
const (
	day  = 24 * time.Hour
	week = 7 * day
)

// At is the time of the week when the crowd has lived so long.
func (c Clock) At(elapsed time.Duration) Moment {
	return Moment((time.Duration(c.Start) + elapsed*time.Duration(c.Day.Compress)) % week)
}

// Moment is a time of the week, since Monday's midnight. It is written Mon 08:00.
type Moment time.Duration

// notGiven is the start of a clock that has none.
const notGiven Moment = -1

// Weekday is the number of the day, 0 for Monday.
func (m Moment) Weekday() int { return int(time.Duration(m) / day) }

// TimeOfDay is the time since midnight.
func (m Moment) TimeOfDay() time.Duration { return time.Duration(m) % day }

func (m Moment) String() string {
	return weekdays[m.Weekday()] + time.Time{}.Add(m.TimeOfDay()).Format(" 15:04:05")
}

var weekdays = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// weekdayNamed returns the number of a day, by the first three letters of its name; -1 if there is none.
func weekdayNamed(s string) int {
	for i, name := range weekdays {
		if strings.EqualFold(s, name) {
			return i
		}
	}
	return -1
}

// UnmarshalYAML reads a day and a time.
func (m *Moment) UnmarshalYAML(n *yaml.Node) error {
	name, clock, _ := strings.Cut(n.Value, " ")
	number, at := weekdayNamed(name), time.Duration(0)
	ok := false
	if at, ok = parseTimeOfDay(clock); number < 0 || !ok || at == day {
		return yamlfile.Refuse(n, `%q is no time of the week; give one such as "Mon 08:00"`, heddle.Clip(n.Value))
	}
	*m = Moment(time.Duration(number)*day + at)
	return nil
}

// parseTimeOfDay reads hours and minutes, 00:00 to 24:00.
func parseTimeOfDay(s string) (time.Duration, bool) {
	if s == "24:00" {
		return day, true
	}
	t, err := time.Parse("15:04", s)
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, err == nil
}

// Span is how long a crowd lives.
type Span time.Duration

// UnmarshalYAML reads a duration.
func (s *Span) UnmarshalYAML(n *yaml.Node) error {
	d, err := time.ParseDuration(n.Value)
	if err != nil || d < time.Second || d > MaxLength {
		return yamlfile.Refuse(n, "%q is no length of a crowd; give 1s to %v, such as 30m", heddle.Clip(n.Value), MaxLength)
	}
	*s = Span(d)
	return nil
}
