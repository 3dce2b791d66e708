package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/limit"
)

// Comparison is how people fared in two runs of one plan, first A, then B.
type Comparison struct {
	// Warnings are what else differs.
	Warnings []string `json:"warnings,omitempty"`
	// Changes are those of each figure, mode by mode.
	Changes []Change `json:"changes"`

	invalid []string // modes without a valid round
}

// Change is a figure of a mode in two runs.
type Change struct {
	Mode string `json:"mode"`
	// Figure is its name in conditions.
	Figure    string `json:"figure"`
	Behaviour string `json:"behaviour,omitempty"`
	Action    string `json:"action,omitempty"`
	Unit      Unit   `json:"unit"`
	bench.Change
	// Of is the figure in words.
	Of Figure `json:"-"`
}

// Comparable refuses reports of different plans: people who do other things wait for other reasons.
func Comparable(a, b Report) error {
	if all := otherPlan(a, b); all != nil {
		return heddle.Errorf(heddle.BadArgument, "compare reports", "", "they are of different plans: "+strings.Join(all, "; "),
			"play one scenario twice, with one seed and as many users, or give --anyway")
	}
	return nil
}

// Resumable refuses to go on with a report of another plan, or of other links, events, services or users.
func Resumable(earlier, now Report) error {
	all := slices.Concat(otherPlan(earlier, now), otherLinks(earlier, now), otherEvents(earlier, now), otherServices(earlier, now), otherUsers(earlier, now))
	if all == nil {
		return nil
	}
	return heddle.Errorf(heddle.BadArgument, "go on with report", "", "it is of another run: "+strings.Join(all, "; "),
		"give the scenario, --seed, --users, --hosts and --as of that run, or another --out")
}

// otherPlan says in what two plans differ.
func otherPlan(a, b Report) (all []string) {
	for _, x := range []struct {
		what string
		a, b any
	}{{"seed", a.Seed, b.Seed}, {"users", a.Users, b.Users}, {"length", a.Length, b.Length}, {"sha256", a.SHA256, b.SHA256}} {
		if x.a != x.b {
			all = append(all, fmt.Sprintf("%s: %v, then %v", x.what, x.a, x.b))
		}
	}
	return all
}

// otherLinks says in what the links of personas differ.
func otherLinks(a, b Report) (all []string) {
	for _, persona := range slices.Sorted(maps.Keys(both(a.Links, b.Links))) {
		x, y := "none", "none"
		if l, has := a.Links[persona]; has {
			x = l.String()
		}
		if l, has := b.Links[persona]; has {
			y = l.String()
		}
		if x != y {
			all = append(all, fmt.Sprintf("link of %s: %s, then %s", persona, x, y))
		}
	}
	return all
}

// both has the keys of two maps.
func both[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return all
}

// Compare compares two reports, figure by figure, in the modes that both have.
func Compare(a, b Report) Comparison {
	var c Comparison
	for _, side := range []struct {
		name       string
		has, lacks Report
	}{{"first", a, b}, {"second", b, a}} {
		for _, mode := range side.has.Played() {
			if !slices.Contains(side.lacks.Played(), mode) {
				c.Warnings = append(c.Warnings, fmt.Sprintf("only the %s has mode %s", side.name, mode))
			} else if !side.has.Valid(mode) {
				c.invalid = append(c.invalid, fmt.Sprintf("no round of the %s in mode %s is valid", side.name, mode))
			}
		}
	}
	c.Warnings = slices.Concat(c.Warnings, c.invalid, otherLinks(a, b), otherEvents(a, b), otherServices(a, b), otherUsers(a, b), a.unplanned("first"), b.unplanned("second"))
	if a.Diary != b.Diary {
		c.Warnings = append(c.Warnings, "one of the two wrote a diary, which takes time")
	}
	whole := Report{Rounds: slices.Concat(a.Rounds, b.Rounds)}
	for _, mode := range a.Played() {
		for _, f := range whole.Figures() {
			x, y := a.Values(mode, f.Value), b.Values(mode, f.Value)
			if f.Better == bench.Informative || len(x) == 0 || len(y) == 0 {
				continue
			}
			c.Changes = append(c.Changes, Change{mode, f.Metric, f.Behaviour, f.Action, f.Unit,
				bench.NewChange(f.Better, bench.Median(x), bench.Median(y), x, y, b.Seed), f})
		}
	}
	bench.Judge(c.changes())
	return c
}

func (c Comparison) changes() (all []*bench.Change) {
	for i := range c.Changes {
		all = append(all, &c.Changes[i].Change)
	}
	return all
}

// Valid is the error of modes that have no valid round in one of the runs: their changes say nothing.
func (c Comparison) Valid() error {
	if c.invalid == nil {
		return nil
	}
	return heddle.Errorf(heddle.CrowdFailed, "compare reports", "", strings.Join(c.invalid, "; "), "play again with fewer --users, or leave the machine alone while the crowd plays")
}

// Summary counts the verdicts.
func (c Comparison) Summary() string { return bench.Summary(c.changes()) }

// ParseChangeLimits reads a --fail-if expression about a comparison: bench's metrics. They are about achieved and p50,
// unless the label figure names another figure.
func ParseChangeLimits(expr string) ([]limit.Limit, error) {
	return limit.Parse(expr, bench.ChangeGrammar(limitLabels))
}

// Check returns an error with the code Threshold if any limit is crossed. A limit that chooses nothing is an error,
// too.
func (c Comparison) Check(limits []limit.Limit) error {
	limits = slices.Clone(limits)
	for i, l := range limits { // without a behaviour, what is of none
		limits[i].Labels = both(map[string]string{"behaviour": ""}, l.Labels)
	}
	var all []bench.NamedChange
	for i := range c.Changes {
		x := &c.Changes[i]
		all = append(all, bench.NamedChange{Change: &x.Change, Name: x.Mode + " " + x.Of.Name(), Headline: x.Figure == "achieved" || x.Figure == headline,
			Labels: map[string]string{"mode": x.Mode, "figure": x.Figure, "action": x.Action, "behaviour": x.Behaviour}})
	}
	return bench.CheckChanges(limits, all)
}
