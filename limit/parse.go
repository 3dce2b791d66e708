package limit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle/lazyregexp"
)

var and = lazyregexp.New(`\s+and\s+`)

// Parse reads an expression.
func Parse(expr string, g Grammar) ([]Limit, error) {
	var all []Limit
	for _, part := range splitOutside(expr) {
		for _, clause := range and.Split(part, -1) {
			l, err := parseClause(strings.TrimSpace(clause), g)
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

var numberAndUnit = lazyregexp.New(`^([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\S*)$`)

func parseClause(s string, g Grammar) (Limit, error) {
	var l Limit
	at := strings.LastIndexAny(s, "<>")
	if at < 0 {
		return l, Refuse(s, "no comparison")
	}
	left, right := s[:at], s[at+1:]
	l.Op = s[at : at+1]
	if rest, ok := strings.CutPrefix(right, "="); ok {
		l.Op, right = l.Op+"=", rest
	}
	parts := numberAndUnit.FindStringSubmatch(strings.TrimSpace(right))
	if parts == nil {
		return l, Refuse(s, fmt.Sprintf("%q is not a number, or one with a unit", strings.TrimSpace(right)))
	}
	v, err := strconv.ParseFloat(parts[1], 64)
	if err != nil {
		return l, Refuse(s, fmt.Sprintf("%q is not a number that can be compared", parts[1]))
	}
	l.Value, l.Unit = v, parts[2]
	if err := l.parseSubject(s, strings.TrimSpace(left), g); err != nil {
		return Limit{}, err
	}
	return l, l.checkUnit(s, g)
}

// checkUnit refuses a unit that no figure of that name has.
func (l *Limit) checkUnit(whole string, g Grammar) error {
	if l.Unit == "" {
		return nil
	}
	if _, known := measureOf(l.Unit); !known {
		return Refuse(whole, fmt.Sprintf("unknown unit %q (there are ns, us, ms, s, %%, B, MB, bit/s, Gbit/s, MB/s, /s, k/s, packets/s and the like)", l.Unit))
	}
	if slices.ContainsFunc(g.Units[l.Metric], l.Fits) {
		return nil
	}
	return Refuse(whole, fmt.Sprintf("%s is not in %s; there are %s", l.Metric, l.Unit, g))
}

func (l *Limit) parseSubject(whole, s string, g Grammar) error {
	name, labels, braces := strings.Cut(s, "{")
	l.Metric = strings.TrimSpace(name)
	if _, known := g.Units[l.Metric]; !known {
		return Refuse(whole, fmt.Sprintf("unknown metric %q (there are %s)", l.Metric, g))
	}
	switch {
	case !braces:
		return nil
	case slices.Contains(g.Whole, l.Metric):
		return Refuse(whole, l.Metric+" is of the whole report, and has no labels")
	}
	labels, ok := strings.CutSuffix(labels, "}")
	if !ok || strings.ContainsAny(labels, "{}") {
		return Refuse(whole, "no closing brace before the comparison, or one too many")
	}
	l.Labels = map[string]string{}
	for pair := range strings.SplitSeq(labels, ",") {
		key, value, ok := strings.Cut(pair, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch _, twice := l.Labels[key]; {
		case !ok || value == "":
			return Refuse(whole, fmt.Sprintf("%q is not label=value", strings.TrimSpace(pair)))
		case !slices.Contains(g.Labels, key):
			return Refuse(whole, fmt.Sprintf("unknown label %q (there are %s)", key, strings.Join(g.Labels, ", ")))
		case twice:
			return Refuse(whole, fmt.Sprintf("label %q twice", key))
		}
		l.Labels[key] = value
	}
	return nil
}
