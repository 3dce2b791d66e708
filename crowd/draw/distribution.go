package draw

import (
	"fmt"
	"math"
	"sort"
)

// Distribution is a law by which numbers are drawn.
type Distribution interface {
	// Quantile is the value that a draw does not exceed with probability p, which is between 0 and 1, both
	// excluded.
	Quantile(p float64) float64
	// String names the law with its parameters.
	String() string
}

// From draws a number by a distribution.
func (s *Stream) From(d Distribution) float64 {
	if t, ok := d.(Truncated); ok {
		return t.draw(s)
	}
	return d.Quantile(s.Unit())
}

// Constant is always the same number.
type Constant float64

func (c Constant) Quantile(float64) float64 { return float64(c) }
func (c Constant) String() string           { return fmt.Sprintf("%g", float64(c)) }

// Uniform is each number from Low to High alike.
type Uniform struct{ Low, High float64 }

func (u Uniform) Quantile(p float64) float64 { return u.Low + float64((u.High-u.Low)*p) }
func (u Uniform) String() string             { return fmt.Sprintf("uniform %g to %g", u.Low, u.High) }

// Exponential is the time to the next of events that have nothing to do with each other and come every
// MeanValue.
type Exponential struct{ MeanValue float64 }

func (e Exponential) Quantile(p float64) float64 { return -float64(e.MeanValue * log(1-p)) }
func (e Exponential) String() string             { return fmt.Sprintf("exponential, mean %g", e.MeanValue) }

// LogNormal has a logarithm that is normal, with mean Mu and standard deviation Sigma.
type LogNormal struct{ Mu, Sigma float64 }

// LogNormalOf has the given mean and standard deviation itself.
func LogNormalOf(mean, deviation float64) LogNormal {
	relative := deviation / mean
	square := log(1 + float64(relative*relative))
	return LogNormal{log(mean) - square/2, math.Sqrt(square)}
}

// LogNormalAround has the given median.
func LogNormalAround(median, sigma float64) LogNormal { return LogNormal{log(median), sigma} }

func (l LogNormal) Quantile(p float64) float64 { return exp(l.Mu + float64(l.Sigma*normalQuantile(p))) }

// Mean is the expected value.
func (l LogNormal) Mean() float64 { return exp(l.Mu + float64(l.Sigma*l.Sigma)/2) }
func (l LogNormal) String() string {
	return fmt.Sprintf("lognormal, median %.6g, sigma %.6g", exp(l.Mu), l.Sigma)
}

// Pareto exceeds x, which is at least Scale, with probability (Scale/x)^Alpha.
type Pareto struct{ Scale, Alpha float64 }

func (d Pareto) Quantile(p float64) float64 { return float64(d.Scale * power(1-p, -1/d.Alpha)) }
func (d Pareto) String() string             { return fmt.Sprintf("pareto, scale %g, alpha %g", d.Scale, d.Alpha) }

// Weibull exceeds x with probability exp(-(x/Scale)^Shape).
type Weibull struct{ Scale, Shape float64 }

func (d Weibull) Quantile(p float64) float64 {
	return float64(d.Scale * power(-log(1-p), 1/d.Shape))
}
func (d Weibull) String() string { return fmt.Sprintf("weibull, scale %g, shape %g", d.Scale, d.Shape) }

// Truncated is another distribution's part from Min to Max.
type Truncated struct {
	Of       Distribution
	Min, Max float64
}

// maxRedraws is how often a value outside the bounds is drawn again. Afterwards the nearer bound is taken, so that
// bounds which a law hardly ever meets do not stop a plan.
const maxRedraws = 100

func (t Truncated) draw(s *Stream) float64 {
	var v float64
	for range maxRedraws {
		if v = s.From(t.Of); v >= t.Min && v <= t.Max {
			return v
		}
	}
	return min(max(v, t.Min), t.Max)
}

// Redraws is about how often a value is drawn again.
func (t Truncated) Redraws() float64 {
	const steps = 200
	inside := 0.0
	for i := range steps {
		if v := t.Of.Quantile((float64(i) + 0.5) / steps); v >= t.Min && v <= t.Max {
			inside++
		}
	}
	if inside == 0 {
		return maxRedraws
	}
	return min(steps/inside-1, maxRedraws)
}

// Quantile is exact to one part in a thousand of the probability.
func (t Truncated) Quantile(p float64) float64 {
	inside := t.inside()
	if len(inside) == 0 {
		return min(max(t.Of.Quantile(p), t.Min), t.Max)
	}
	return inside[int(p*float64(len(inside)))]
}

// inside are values of the other distribution, equally likely each, that lie within the bounds.
func (t Truncated) inside() (all []float64) {
	const steps = 10_000
	for i := range steps {
		if v := t.Of.Quantile((float64(i) + 0.5) / steps); v >= t.Min && v <= t.Max {
			all = append(all, v)
		}
	}
	return all
}

func (t Truncated) String() string { return fmt.Sprintf("%v, from %g to %g", t.Of, t.Min, t.Max) }

// Zipf draws ranks, 0 the most popular: rank r has a share in proportion to 1/(r+1)^exponent.
type Zipf struct{ upTo []float64 }

// NewZipf returns the law of n ranks, at least 1.
func NewZipf(n int, exponent float64) Zipf {
	z, sum := Zipf{make([]float64, n)}, 0.0
	for r := range n {
		sum += power(float64(r+1), -exponent)
		z.upTo[r] = sum
	}
	return z
}

// Rank draws a rank.
func (z Zipf) Rank(s *Stream) int {
	at := float64(s.Unit() * z.upTo[len(z.upTo)-1])
	return min(sort.SearchFloat64s(z.upTo, at), len(z.upTo)-1)
}
