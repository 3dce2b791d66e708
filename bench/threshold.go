package bench

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// Limit is one clause of a --fail-if expression:
//
//	EXPR   = CLAUSE { ( "," | "and" ) CLAUSE }
//	CLAUSE = METRIC [ "{" LABEL "=" VALUE { "," LABEL "=" VALUE } "}" ] OP NUMBER [ UNIT ]
//	OP     = "<" | "<=" | ">" | ">="
//	UNIT   = "ns" | "us" | "ms" | "s" | "%" | "Gbit/s" | "k/s" | "packets/s" | …
//
// METRIC is one of the following: the name of a figure (received, p99, …); ratio-MODE, or an end of
// its interval, low-ratio-MODE and high-ratio-MODE, for the ratio of the headline figure or of the
// figure that the label figure names; cpu (percent of the machine); missed-goals (how many of the
// preset's goals are missed or not measured). A number without a unit is in the figure's own unit.
// A number with a unit applies only to figures that have such a unit. The labels mode, span, probe,
// size, pairs and wire choose cells. A clause holds if any chosen cell meets it, and then the run
// fails.
type Limit struct {
	Metric string
	Labels map[string]string
	Op     string
	Value  float64
	// Unit is the unit as written, "" for the figure's own.
	Unit string
}

var limitLabels = []string{"mode", "span", "probe", "size", "pairs", "wire", "figure"}

func badLimit(text, why string) error {
	return heddle.Errorf(heddle.BadArgument, "read --fail-if", strconv.Quote(text), why,
		"write METRIC{label=value,…} OP NUMBER, such as 'p99>200us' or 'ratio-host{mode=bridge,probe=iperf3} < 0.5'")
}

// ParseLimits reads an expression about a report.
func ParseLimits(expr string) ([]Limit, error) { return parseLimits(expr, reportGrammar()) }

var and = regexp.MustCompile(`\s+and\s+`)

func parseLimits(expr string, g grammar) ([]Limit, error) {
	var all []Limit
	for _, part := range splitOutside(expr) {
		for _, clause := range and.Split(part, -1) {
			l, err := parseLimit(strings.TrimSpace(clause), g)
			if err != nil {
				return nil, err
			}
			all = append(all, l)
		}
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

var numberAndUnit = regexp.MustCompile(`^([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\S*)$`)

func parseLimit(s string, g grammar) (Limit, error) {
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
	parts := numberAndUnit.FindStringSubmatch(strings.TrimSpace(right))
	if parts == nil {
		return l, badLimit(s, fmt.Sprintf("%q is not a number, or one with a unit", strings.TrimSpace(right)))
	}
	v, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return l, badLimit(s, fmt.Sprintf("%q is not a number that can be compared", parts[1]))
	}
	l.Value, l.Unit = v, parts[2]
	if err := l.parseSubject(s, strings.TrimSpace(left), g); err != nil {
		return Limit{}, err
	}
	return l, l.checkUnit(s, g)
}

// checkUnit refuses a unit that no figure of that name has.
func (l *Limit) checkUnit(whole string, g grammar) error {
	if l.Unit == "" {
		return nil
	}
	if _, known := measureOf(l.Unit); !known {
		return badLimit(whole, fmt.Sprintf("unknown unit %q (there are ns, us, ms, s, %%, bit/s, Gbit/s, MB/s, /s, k/s, packets/s and the like)", l.Unit))
	}
	for _, unit := range g[l.Metric] {
		if _, fits := convert(l.Value, l.Unit, unit); fits {
			return nil
		}
	}
	return badLimit(whole, fmt.Sprintf("%s is not in %s; there are %s", l.Metric, l.Unit, g))
}

func (l *Limit) parseSubject(whole, s string, g grammar) error {
	name, labels, braces := strings.Cut(s, "{")
	l.Metric = strings.TrimSpace(name)
	if _, known := g[l.Metric]; !known {
		return badLimit(whole, fmt.Sprintf("unknown metric %q (there are %s)", l.Metric, g))
	}
	switch {
	case !braces:
		return nil
	case l.Metric == missedGoals:
		return badLimit(whole, missedGoals+" is of the whole report, and has no labels")
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

func (l Limit) String() string {
	s := l.Metric
	if len(l.Labels) > 0 {
		var parts []string
		for _, k := range sortedKeys(l.Labels) {
			parts = append(parts, k+"="+l.Labels[k])
		}
		s += "{" + strings.Join(parts, ",") + "}"
	}
	return s + " " + l.Op + " " + strconv.FormatFloat(l.Value, 'g', -1, 64) + l.Unit
}
