// Package limit is conditions on figures: the expressions of --fail-if, which make a command fail when a
// figure crosses a limit.
package limit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// Limit is one clause of an expression:
//
//	EXPR   = CLAUSE { ( "," | "and" ) CLAUSE }
//	CLAUSE = METRIC [ "{" LABEL "=" VALUE { "," LABEL "=" VALUE } "}" ] OP NUMBER [ UNIT ]
//	OP     = "<" | "<=" | ">" | ">="
//	UNIT   = "ns" | "us" | "ms" | "s" | "%" | "MB" | "Gbit/s" | "k/s" | "packets/s" | …
//
// A number without a unit is in the figure's own unit. A number with a unit applies only to figures
// that have such a unit. Which metrics and labels there are, a Grammar says; labels choose among the
// figures of that name. A clause holds if any chosen figure meets it, and then the command fails.
type Limit struct {
	Metric string
	Labels map[string]string
	Op     string
	Value  float64
	// Unit is the unit as written, "" for the figure's own.
	Unit string
}

// Crossed reports whether a value, which is in that unit, crosses the limit. A value in a unit of
// something else does not.
func (l Limit) Crossed(v float64, unit string) bool {
	bound, fits := convert(l.Value, l.Unit, unit)
	switch {
	case !fits:
		return false
	case l.Op == "<":
		return v < bound
	case l.Op == "<=":
		return v <= bound
	case l.Op == ">":
		return v > bound
	}
	return v >= bound
}

// Fits reports whether the limit can be about values in that unit.
func (l Limit) Fits(unit string) bool {
	_, fits := convert(l.Value, l.Unit, unit)
	return fits
}

// Matches reports whether the labels match those of a figure: each label of the limit that the figure has
// is the same there.
func (l Limit) Matches(labels map[string]string) bool {
	for key, has := range labels {
		if want, ok := l.Labels[key]; ok && want != has {
			return false
		}
	}
	return true
}

// String is the clause, as it can be read again.
func (l Limit) String() string {
	s := l.Metric
	var parts []string
	if len(l.Labels) > 0 {
		for _, k := range slices.Sorted(maps.Keys(l.Labels)) {
			if l.Labels[k] != "" {
				parts = append(parts, k+"="+l.Labels[k])
			}
		}
	}
	if len(parts) > 0 {
		s += "{" + strings.Join(parts, ",") + "}"
	}
	return s + " " + l.Op + " " + strconv.FormatFloat(l.Value, 'g', -1, 64) + l.Unit
}

// Refuse is the error of an expression, or a clause of it, that cannot be checked.
func Refuse(text, why string) error {
	return heddle.Errorf(heddle.BadArgument, "read --fail-if", strconv.Quote(text), why,
		"write METRIC{label=value,…} OP NUMBER, such as 'p99{mode=bridge} > 200us'")
}

// Failed is the error of limits that were crossed, with code Threshold; nil if there are none.
func Failed(crossed []string) error {
	const most = 8
	if crossed == nil {
		return nil
	}
	if more := len(crossed) - most; more > 0 {
		crossed = append(crossed[:most:most], fmt.Sprintf("and %d more", more))
	}
	return &heddle.Error{Code: heddle.Threshold, Kind: heddle.Failed, Op: "check --fail-if", Cause: strings.Join(crossed, "; "), Remedy: "see the report"}
}
