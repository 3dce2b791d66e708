package draw_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"sort"
	"testing"

	"github.com/heddle-network/heddle/crowd/draw"
)

func TestStreams(t *testing.T) {
	first := func(seed uint64, names ...string) float64 { return draw.NewStream(seed, names...).Unit() }
	if first(1, "a", "b") != first(1, "a", "b") {
		t.Error("one stream gives two values")
	}
	seen := map[float64]bool{}
	for _, v := range []float64{first(1), first(2), first(1, ""), first(1, "a"), first(1, "ab"), first(1, "a", "b"), first(1, "b", "a")} {
		if seen[v] {
			t.Errorf("two streams begin with %v", v)
		}
		seen[v] = true
	}
}

// laws are one of each, with parameters of the field.
var laws = []draw.Distribution{
	draw.Constant(3), draw.Uniform{Low: 2, High: 6}, draw.Exponential{MeanValue: 30}, draw.LogNormalOf(17, 22),
	draw.LogNormal{Mu: 6.17, Sigma: 2.36}, draw.Pareto{Scale: 133_000, Alpha: 1.1}, draw.Pareto{Scale: 2, Alpha: 2.43},
	draw.Weibull{Scale: 6950, Shape: 0.8099},
	draw.Truncated{Of: draw.LogNormalOf(10_710, 25_032), Min: 100, Max: 2e6},
	draw.Truncated{Of: draw.Pareto{Scale: 2, Alpha: 1.1}, Min: 2, Max: 55},
	draw.Quantiles{Known: []float64{0.24, 1.56, 17.8}, Chance: []float64{0.5, 0.9, 1}},
}

// means are theirs, computed by the closed forms of their laws.
var means = []float64{3, 4, 30, 17, 7745.0, 0, 3.3986, 7806.3, 10734.1, 6.3725, 1.388}

// TestSame: each machine draws what this one drew when the test was written.
func TestSame(t *testing.T) {
	sum := sha256.New()
	add := func(v float64) { binary.Write(sum, binary.BigEndian, math.Float64bits(v)) }
	z := draw.NewZipf(200, 1)
	for _, law := range laws {
		s := draw.NewStream(7, law.String())
		for range 2000 {
			add(s.From(law))
			add(float64(z.Rank(s)))
			add(float64(s.Below(3)))
			add(float64(s.Pick([]float64{0.7, 0, 0.15, 0.15})))
		}
	}
	const want = "76a67d27f259aa4fc1d6e4cbeac082a9f13c5d13d702070bc9b9f7a28c3bce3e"
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("drawn values have the sum %s, not %s", got, want)
	}
}

// TestLaws compares drawn values with seven quantiles, and with the mean.
func TestLaws(t *testing.T) {
	const n = 20_000
	for i, law := range laws {
		s, sum := draw.NewStream(1, law.String()), 0.0
		values := make([]float64, n)
		for i := range values {
			values[i] = s.From(law)
			sum += values[i]
		}
		sort.Float64s(values)
		for _, p := range []float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99} {
			q := law.Quantile(p)
			below := float64(sort.SearchFloat64s(values, q)) / n
			upTo := float64(sort.Search(n, func(i int) bool { return values[i] > q })) / n
			if below > p+0.012 || upTo < p-0.012 {
				t.Errorf("%v: %.4f to %.4f of the values are below %v, the quantile of %v", law, below, upTo, q, p)
			}
		}
		// Pareto's of 1.1 does not settle, and is 0 here.
		if mean, want := sum/n, means[i]; want > 0 && math.Abs(mean-want) > 0.12*want {
			t.Errorf("%v: mean %v, expected %v", law, mean, want)
		}
	}
}

// TestRedraws: how often a value is drawn again follows from how much of the law is outside the bounds.
func TestRedraws(t *testing.T) {
	of := draw.Uniform{Low: 0, High: 8}
	for _, c := range []struct{ from, to, want float64 }{{0, 8, 0}, {4, 8, 1}, {2, 4, 3}, {0, 0.04, 100}, {9, 10, 100}} {
		if got := (draw.Truncated{Of: of, Min: c.from, Max: c.to}).Redraws(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("from %v to %v: %v, not %v", c.from, c.to, got, c.want)
		}
	}
}

// TestPublished: figures that others computed from the same parameters (3GPP's HTTP model, EURASIP 2012:287).
func TestPublished(t *testing.T) {
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"main object, mu", draw.LogNormalOf(10_710, 25_032).Mu, 8.35},
		{"main object, sigma", draw.LogNormalOf(10_710, 25_032).Sigma, 1.37},
		{"embedded object, mu", draw.LogNormalOf(7_758, 126_168).Mu, 6.17},
		{"embedded object, sigma", draw.LogNormalOf(7_758, 126_168).Sigma, 2.36},
	} {
		if math.Abs(c.got-c.want) > 0.006 {
			t.Errorf("%s: %v, published %v", c.what, c.got, c.want)
		}
	}
}

func TestZipf(t *testing.T) {
	s, z := draw.NewStream(1), draw.NewZipf(4, 1)
	var count [4]float64
	const n = 50_000
	for range n {
		count[z.Rank(s)]++
	}
	for r, c := range count {
		if want := 1 / float64(r+1) / (1 + 1.0/2 + 1.0/3 + 1.0/4); math.Abs(c/n-want) > 0.01 {
			t.Errorf("rank %d: %v, not %v", r, c/n, want)
		}
	}
}

func TestPick(t *testing.T) {
	s := draw.NewStream(1)
	if i := s.Pick([]float64{0, -1}); i != -1 {
		t.Errorf("picked %d of nothing", i)
	}
	var count [3]float64
	for range 10_000 {
		count[s.Pick([]float64{3, 0, 1})]++
	}
	if count[1] != 0 || math.Abs(count[0]/10_000-0.75) > 0.02 {
		t.Errorf("%v", count)
	}
}
