package scenario

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/yamlfile"
)

// laws read the parameters of each law that a scenario can name; the unit is that of the amount.
var laws = map[string]func(*yaml.Node, unit) (draw.Distribution, error){
	"exponential": readExponential,
	"uniform":     readUniform,
	"lognormal":   readLogNormal,
	"pareto":      readPareto,
	"weibull":     readWeibull,
	"quantiles":   readQuantiles,
}

// read reads an amount: a value, or a law with its options.
func (u unit) read(n *yaml.Node) (a Amount, err error) {
	a.Least, a.Most = 0, u.most
	if n.Kind == yaml.ScalarNode {
		v, err := u.value(n)
		a.Law, a.Least, a.Most = draw.Constant(v), v, v
		return a, err
	}
	options, err := entries(n, lawWords)
	if err != nil {
		return a, err
	}
	bounded, highest := false, u.most
	for _, o := range options {
		switch law := laws[o.key.Value]; {
		case law != nil && a.Law != nil:
			return a, yamlfile.Refuse(o.key, "it is a second distribution; give one of them")
		case law != nil:
			a.Law, err = law(o.value, u)
		case o.key.Value == "min":
			a.Least, err = u.value(o.value)
			bounded = true
		case o.key.Value == "max":
			a.Most, err = u.value(o.value)
			bounded = true
		case o.key.Value == "cap":
			highest, err = u.value(o.value)
		case o.key.Value == "minus":
			a.Minus, err = u.value(o.value)
		case o.key.Value == "per-user":
			a.PerUser, err = perUser.value(o.value)
		default:
			err = yamlfile.Refuse(o.key, "there is no distribution and no option %q; %s", heddle.Clip(o.key.Value), lawWords)
		}
		if err != nil {
			return a, err
		}
	}
	switch {
	case a.Law == nil:
		return a, yamlfile.Refuse(n, "it has no distribution; %s", lawWords)
	case a.Least > a.Most:
		return a, yamlfile.Refuse(n, "its min is above its max; exchange them")
	case bounded && a.Least > highest:
		return a, yamlfile.Refuse(n, "its min is above its cap; give a higher cap, or a lower min")
	case bounded: // draw again; what the user's factor makes of it is cut off
		a.Law = draw.Truncated{Of: a.Law, Min: a.Least, Max: a.Most}
	}
	a.Least, a.Most = max(0, a.Least-a.Minus), max(0, min(a.Most, highest)-a.Minus)
	return a, nil
}

const lawWords = "give a value, or one of exponential, uniform, lognormal, pareto, weibull and quantiles, " +
	"with min, max, cap, minus or per-user if needed"

func readExponential(n *yaml.Node, u unit) (draw.Distribution, error) {
	mean, err := u.above0(n)
	return draw.Exponential{MeanValue: mean}, err
}

func readUniform(n *yaml.Node, u unit) (draw.Distribution, error) {
	n = resolve(n)
	if n.Kind != yaml.SequenceNode || len(n.Content) != 2 {
		return nil, yamlfile.Refuse(n, "it is not two values; give [LOW, HIGH]")
	}
	low, err := u.value(n.Content[0])
	if err != nil {
		return nil, err
	}
	high, err := u.value(n.Content[1])
	if err == nil && high < low {
		err = yamlfile.Refuse(n, "the first value is above the second; exchange them")
	}
	return draw.Uniform{Low: low, High: high}, err
}

func readLogNormal(n *yaml.Node, u unit) (draw.Distribution, error) {
	var a, b float64
	all, _ := entries(n, "") // fill tells what is wrong
	if slices.ContainsFunc(all, func(p pair) bool { return p.key.Value == "mean" }) {
		err := fill(n, parameter{"mean", u, &a}, parameter{"deviation", u, &b})
		return draw.LogNormalOf(a, b), err
	}
	err := fill(n, parameter{"median", u, &a}, parameter{"sigma", logDeviation, &b})
	return draw.LogNormalAround(a, b), err
}

func readPareto(n *yaml.Node, u unit) (draw.Distribution, error) {
	var d draw.Pareto
	err := fill(n, parameter{"scale", u, &d.Scale}, parameter{"alpha", number, &d.Alpha})
	return d, err
}

func readWeibull(n *yaml.Node, u unit) (draw.Distribution, error) {
	var d draw.Weibull
	err := fill(n, parameter{"scale", u, &d.Scale}, parameter{"shape", number, &d.Shape})
	return d, err
}

// readQuantiles reads a mapping from probabilities, of which the last is 1, to values.
func readQuantiles(n *yaml.Node, u unit) (draw.Distribution, error) {
	all, err := entries(n, "give rising probabilities, up to 1, and their values")
	if err != nil {
		return nil, err
	}
	var q draw.Quantiles
	p0, v0 := 0.0, 0.0
	for _, e := range all {
		p, err := strconv.ParseFloat(e.key.Value, 64)
		if err != nil || !(p > p0 && p <= 1) {
			return nil, yamlfile.Refuse(e.key, "it is no probability above the one before; give rising ones, up to 1")
		}
		v, err := u.value(e.value)
		if err == nil && v < v0 {
			err = yamlfile.Refuse(e.value, "it is below the quantile before; give rising values")
		}
		if err != nil {
			return nil, err
		}
		q.Known, q.Chance, p0, v0 = append(q.Known, v), append(q.Chance, p), p, v
	}
	if p0 != 1 {
		return nil, yamlfile.Refuse(n, "its last probability is %g; end with 1, and the largest value", p0)
	}
	return q, nil
}
