package scenario

import (
	"math"

	"github.com/heddle-network/heddle/crowd/draw"
)

// Amount is a number that is drawn: a factor once for a user, then a number for each event.
type Amount struct {
	// Law draws a number for a user whose factor is 1; nil is always 0.
	Law draw.Distribution
	// Minus is taken off what is drawn.
	Minus float64
	// PerUser is the standard deviation of the factor's logarithm; its median is 1.
	PerUser float64
	// Least and Most bound what is drawn, factor included.
	Least, Most float64
}

// Time is an amount in nanoseconds, Size in bytes, Number without a unit.
type (
	Time   struct{ Amount }
	Size   struct{ Amount }
	Number struct{ Amount }
)

// Given reports whether the scenario has the amount.
func (a Amount) Given() bool { return a.Law != nil }

// Factor draws a user's factor.
func (a Amount) Factor(s *draw.Stream) float64 {
	return s.From(draw.LogNormal{Sigma: a.PerUser})
}

// Draw draws a number for a user with a factor.
func (a Amount) Draw(s *draw.Stream, factor float64) int64 {
	if a.Law == nil {
		return 0
	}
	v := float64(s.From(a.Law)*factor) - a.Minus
	return int64(math.Floor(min(max(v, a.Least), a.Most) + 0.5))
}

// most is what no draw exceeds.
func (a Amount) most() float64 {
	if a.Law == nil {
		return 0
	}
	if constant, is := a.Law.(draw.Constant); is && a.PerUser == 0 {
		return min(float64(constant)-a.Minus, a.Most)
	}
	return a.Most
}
