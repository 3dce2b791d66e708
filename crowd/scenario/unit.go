package scenario

import (
	"math"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/yamlfile"
)

// unit reads the values of one kind.
type unit struct {
	parse func(string) (float64, bool)
	most  float64
	words string // what a value looks like, and the largest one
}

var (
	duration = unit{parseDuration, float64(MaxTime), "a duration such as 12s or 1.5m, up to 24h"}
	size     = unit{parseSize, MaxSize, "a number of bytes such as 328, 12KB, 2MiB, up to 16GiB"}
	number   = unit{parseNumber, MaxMore, "a number, up to 1000"}
	// logDeviation is for standard deviations of a logarithm.
	logDeviation = unit{parseNumber, 10, "a standard deviation of the logarithm, up to 10"}
	perUser      = unit{parseNumber, 3, "a standard deviation of the logarithm, up to 3"}
)

// value reads a value, which is not negative.
func (u unit) value(n *yaml.Node) (float64, error) {
	n = resolve(n)
	if n.Kind == yaml.ScalarNode {
		if v, ok := u.parse(n.Value); ok && v >= 0 && v <= u.most {
			return v, nil
		}
		return 0, yamlfile.Refuse(n, "%q is not %s", heddle.Clip(n.Value), u.words)
	}
	return 0, yamlfile.Refuse(n, "it is not %s", u.words)
}

// least is the smallest parameter of a distribution. With smaller ones, what is computed may be no number.
const least = 1e-6

// above0 reads the parameter of a distribution, which is not 0.
func (u unit) above0(n *yaml.Node) (float64, error) {
	v, err := u.value(n)
	if err == nil && v < least {
		err = yamlfile.Refuse(n, "it is too small; give at least 0.000001")
	}
	return v, err
}

func parseNumber(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

func parseDuration(s string) (float64, bool) {
	d, err := time.ParseDuration(s)
	return float64(d), err == nil
}

// sizes are the units of bytes; those that others end in come last.
var sizes = []struct {
	name  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}

func parseSize(s string) (float64, bool) {
	for _, u := range sizes {
		if digits, found := strings.CutSuffix(s, u.name); found {
			v, ok := parseNumber(strings.TrimSpace(digits))
			return float64(v * u.bytes), ok
		}
	}
	return 0, false
}

func (t *Time) UnmarshalYAML(n *yaml.Node) (err error) { t.Amount, err = duration.read(n); return err }
func (s *Size) UnmarshalYAML(n *yaml.Node) (err error) { s.Amount, err = size.read(n); return err }
func (m *Number) UnmarshalYAML(n *yaml.Node) (err error) {
	m.Amount, err = number.read(n)
	return err
}

// Exponent is that of Zipf's law.
type Exponent float64

func (e *Exponent) UnmarshalYAML(n *yaml.Node) error {
	v, err := unit{parseNumber, 10, "a number from 0 to 10"}.value(n)
	*e = Exponent(v)
	return err
}

// Count is a whole number that is not drawn.
type Count int

func (c *Count) UnmarshalYAML(n *yaml.Node) error {
	v, err := unit{parseNumber, 1e5, "a whole number, up to 100000"}.value(n)
	if err == nil && v != math.Floor(v) {
		err = yamlfile.Refuse(n, "%q is not a whole number", n.Value)
	}
	*c = Count(v)
	return err
}

// Share is a part of a whole, 0 to 1, written 0.7 or 70%.
type Share float64

func (s *Share) UnmarshalYAML(n *yaml.Node) error {
	v, err := unit{func(text string) (float64, bool) {
		digits, percent := strings.CutSuffix(text, "%")
		v, ok := parseNumber(digits)
		if percent {
			v /= 100
		}
		return v, ok
	}, 1, "a share such as 0.7 or 70%"}.value(n)
	*s = Share(v)
	return err
}

// Rate is how often something happens in an hour, written 6/h, 0.5/h, 2/m or 3/d.
type Rate float64

func (r *Rate) UnmarshalYAML(n *yaml.Node) error {
	v, err := unit{func(text string) (float64, bool) {
		times, per, _ := strings.Cut(text, "/")
		hourly := map[string]float64{"m": 60, "h": 1, "d": 1.0 / 24}[per]
		v, ok := parseNumber(times)
		return float64(v * hourly), ok && hourly > 0
	}, 3600, "a rate such as 6/h, 2/m or 3/d, up to 60/m"}.value(n)
	*r = Rate(v)
	return err
}
