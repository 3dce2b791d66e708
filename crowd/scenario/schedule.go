package scenario

import (
	"fmt"
	"sort"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/yamlfile"
)

// Schedule says when a persona is active.
type Schedule struct {
	Days  Days   `yaml:"days"`  // every day, if not given
	Hours *Hours `yaml:"hours"` // around the clock, if not given
	Lunch *Hours `yaml:"lunch"` // nobody is active
	// Curve is how active people are, at the times that it has; in between the line is straight.
	Curve Curve `yaml:"curve"`
}

// Shift is by how much a user's hours differ from the persona's.
type Shift struct{ From, To time.Duration }

// Shift draws a user's.
func (s *Schedule) Shift(stream *draw.Stream) Shift {
	if s == nil || s.Hours == nil {
		return Shift{}
	}
	spread := draw.Uniform{Low: -float64(s.Hours.Spread), High: float64(s.Hours.Spread)}
	return Shift{time.Duration(stream.From(spread)), time.Duration(stream.From(spread))}
}

// Weight is how active a user is at a moment, 0 to 1.
func (s *Schedule) Weight(at Moment, shift Shift) float64 {
	if s == nil {
		return 1
	}
	now := at.TimeOfDay()
	if s.Lunch != nil && (s.Lunch.holds(now, Shift{}) || s.Lunch.holds(now+day, Shift{})) {
		return 0
	}
	if s.Hours == nil {
		if !s.Days.has(at.Weekday()) {
			return 0
		}
		return s.Curve.at(now)
	}
	// Hours belong to the day on which the persona's begin: to tomorrow, if a user is early, or to one of the two
	// days before.
	for ago := -1; ago <= 2; ago++ {
		if s.Days.has((at.Weekday()+7-ago)%7) && s.Hours.holds(now+time.Duration(ago)*day, shift) {
			return s.Curve.at(now)
		}
	}
	return 0
}

// check returns what is wrong with a schedule, at the keys that lead to it.
func (s *Schedule) check(keys ...string) *problem {
	if s != nil && s.Lunch != nil && s.Lunch.Spread > 0 {
		return wrong("it is the same for all; take out the +- and what follows", append(keys, "lunch")...)
	}
	return nil
}

// Days is a set of weekdays, written mon-fri, or sat,sun. Without any it has all of them.
type Days [7]bool

func (d Days) has(number int) bool { return d == Days{} || d[number] }

// UnmarshalYAML reads days and ranges of days, joined by commas.
func (d *Days) UnmarshalYAML(n *yaml.Node) error {
	for _, part := range strings.Split(n.Value, ",") {
		first, last, ranged := strings.Cut(strings.TrimSpace(part), "-")
		if !ranged {
			last = first
		}
		from, to := weekdayNamed(first), weekdayNamed(last)
		if from < 0 || to < 0 {
			return yamlfile.Refuse(n, "%q is no weekday; give days such as mon-fri, or sat,sun", heddle.Clip(part))
		}
		for d[from] = true; from != to; d[from] = true {
			from = (from + 1) % 7
		}
	}
	return nil
}

// Hours are a part of the day. To is after From, and may be past midnight.
type Hours struct{ From, To, Spread time.Duration }

func (h Hours) holds(at time.Duration, shift Shift) bool {
	return at >= h.From+shift.From && at < h.To+shift.To
}

func (h Hours) String() string {
	clock := func(d time.Duration) string {
		hour := d / time.Hour
		if d > day {
			hour %= 24
		}
		return fmt.Sprintf("%02d:%02d", hour, d/time.Minute%60)
	}
	s := clock(h.From) + "-" + clock(h.To)
	if h.Spread > 0 {
		s += " +-" + Short(h.Spread)
	}
	return s
}

// Short writes a duration without the units that are 0 at its end.
func Short(d time.Duration) string {
	s := d.String()
	if d > 0 && d%time.Minute == 0 {
		s = strings.TrimSuffix(s, "0s")
	}
	if d > 0 && d%time.Hour == 0 {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// UnmarshalYAML reads hours such as 08:30-17:00, and 08:30-17:00 +-20m, where each user begins and ends up to 20
// minutes earlier or later.
func (h *Hours) UnmarshalYAML(n *yaml.Node) (err error) {
	hours, spread, spreads := strings.Cut(n.Value, "+-")
	first, last, _ := strings.Cut(strings.TrimSpace(hours), "-")
	from, ok1 := parseTimeOfDay(first)
	to, ok2 := parseTimeOfDay(last)
	if spreads {
		h.Spread, err = time.ParseDuration(strings.TrimSpace(spread))
	}
	if !ok1 || !ok2 || err != nil || h.Spread < 0 || h.Spread > 6*time.Hour || from == day {
		return yamlfile.Refuse(n, `%q are no hours; give some such as 08:30-17:00 or "08:30-17:00 +-20m"`,
			heddle.Clip(n.Value))
	}
	if to <= from {
		to += day
	}
	h.From, h.To = from, to
	return nil
}

// Curve has weights of times of the day, in the order of the times.
type Curve []struct {
	At     time.Duration
	Weight float64
}

// at is the weight of a time of day: 1 without a curve.
func (c Curve) at(now time.Duration) float64 {
	if len(c) == 0 {
		return 1
	}
	i := sort.Search(len(c), func(i int) bool { return c[i].At > now })
	last, next := c[(i+len(c)-1)%len(c)], c[i%len(c)]
	width := (next.At - last.At + day) % day
	if width == 0 {
		return last.Weight
	}
	part := float64((now-last.At+day)%day) / float64(width)
	return last.Weight + float64(float64(next.Weight-last.Weight)*part)
}

// UnmarshalYAML reads a mapping from times to weights.
func (c *Curve) UnmarshalYAML(n *yaml.Node) error {
	all, err := entries(n, `give times and weights such as "06:00": 50%`)
	if err != nil {
		return err
	}
	for _, e := range all {
		at, ok := parseTimeOfDay(e.key.Value)
		if !ok || at == day || len(*c) > 0 && at <= (*c)[len(*c)-1].At {
			return yamlfile.Refuse(e.key, `%q is no time of day after the one before; give rising ones such as "06:00"`,
				heddle.Clip(e.key.Value))
		}
		var weight Share
		if err := weight.UnmarshalYAML(e.value); err != nil {
			return err
		}
		*c = append(*c, struct {
			At     time.Duration
			Weight float64
		}{at, float64(weight)})
	}
	return nil
}
