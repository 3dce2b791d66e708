package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// Limit is one clause of a --fail-if expression:
//
//	EXPR   = CLAUSE { "," CLAUSE }
//	CLAUSE = METRIC [ "{" LABEL "=" VALUE { "," LABEL "=" VALUE } "}" ] OP NUMBER
//	OP     = "<" | "<=" | ">" | ">="
//
// METRIC is the name of a figure (received, p99, …), of a ratio (ratio-host,
// ratio-bridge: of the headline figure, or the one that the label figure names),
// or cpu (percent of the machine). The labels mode, span, probe, size and pairs
// choose cells; a clause holds if any chosen cell meets it, and the run fails.
type Limit struct {
	Metric string
	Labels map[string]string
	Op     string
	Value  float64
}

var limitLabels = []string{"mode", "span", "probe", "size", "pairs", "figure"}

func badLimit(text, why string) error {
	return heddle.Errorf(heddle.BadArgument, "--fail-if", strconv.Quote(text), why+"; write METRIC{label=value,…} OP NUMBER, such as ratio-host{mode=bridge,probe=iperf3} < 0.5")
}

// ParseLimits reads an expression.
func ParseLimits(expr string) ([]Limit, error) {
	var all []Limit
	for _, clause := range splitOutside(expr) {
		l, err := parseLimit(strings.TrimSpace(clause))
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// splitOutside splits at the commas that are not inside braces.
func splitOutside(s string) []string {
	var all []string
	depth, from := 0, 0
	for i, r := range s {
		switch {
		case r == '{':
			depth++
		case r == '}':
			depth--
		case r == ',' && depth == 0:
			all, from = append(all, s[from:i]), i+1
		}
	}
	return append(all, s[from:])
}

func parseLimit(s string) (Limit, error) {
	var l Limit
	at := strings.LastIndexAny(s, "<>")
	if at < 0 {
		return l, badLimit(s, "no comparison")
	}
	left, right := s[:at], s[at+1:]
	l.Op = s[at : at+1]
	if rest, ok := strings.CutPrefix(right, "="); ok {
		l.Op, right = l.Op+"=", rest
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(right), 64)
	if err != nil || v != v {
		return l, badLimit(s, fmt.Sprintf("%q is not a number", strings.TrimSpace(right)))
	}
	l.Value = v
	if err := l.parseSubject(s, strings.TrimSpace(left)); err != nil {
		return Limit{}, err
	}
	return l, nil
}

func (l *Limit) parseSubject(whole, s string) error {
	name, labels, braces := strings.Cut(s, "{")
	l.Metric = strings.TrimSpace(name)
	if !knownMetric(l.Metric) {
		return badLimit(whole, fmt.Sprintf("unknown metric %q (there are %s)", l.Metric, strings.Join(metrics(), ", ")))
	}
	if !braces {
		return nil
	}
	labels, ok := strings.CutSuffix(labels, "}")
	if !ok || strings.ContainsAny(labels, "{}") {
		return badLimit(whole, "no closing brace before the comparison, or one too many")
	}
	l.Labels = map[string]string{}
	for pair := range strings.SplitSeq(labels, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch _, twice := l.Labels[key]; {
		case !ok || value == "":
			return badLimit(whole, fmt.Sprintf("%q is not label=value", strings.TrimSpace(pair)))
		case !slices.Contains(limitLabels, key):
			return badLimit(whole, fmt.Sprintf("unknown label %q (there are %s)", key, strings.Join(limitLabels, ", ")))
		case twice:
			return badLimit(whole, fmt.Sprintf("label %q twice", key))
		}
		l.Labels[key] = value
	}
	return nil
}

func metrics() []string {
	all := []string{"ratio-host", "ratio-bridge", "cpu"}
	for _, p := range Probes() {
		for _, f := range p.Figures() {
			if !slices.Contains(all, f.Name) {
				all = append(all, f.Name)
			}
		}
	}
	return all
}

func knownMetric(name string) bool { return slices.Contains(metrics(), name) }

func (l Limit) String() string {
	s := l.Metric
	if len(l.Labels) > 0 {
		var parts []string
		for _, k := range sortedKeys(l.Labels) {
			parts = append(parts, k+"="+l.Labels[k])
		}
		s += "{" + strings.Join(parts, ",") + "}"
	}
	return s + " " + l.Op + " " + strconv.FormatFloat(l.Value, 'g', -1, 64)
}
