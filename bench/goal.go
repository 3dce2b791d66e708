package bench

import "slices"

// Goal is a goal of a preset: a value computed from the readings of one round, with a limit that
// it must meet and an aim.
type Goal struct {
	Name string `json:"name"`
	// Of says how the value is computed.
	Of Formula `json:"of"`
	// Ours is compared with Peer. Extra subtracts Base from both.
	Ours Reading `json:"ours"`
	Peer Reading `json:"peer"`
	Base Reading `json:"base,omitzero"`
	// AtLeast is the limit; it is a maximum if less is better. Aim is the goal.
	AtLeast float64 `json:"atLeast"`
	Aim     float64 `json:"aim"`
}

// Reading is a figure of a cell.
type Reading struct {
	Cell
	Figure string `json:"figure"`
}

// Formula says how a goal's value is computed from a round's readings.
type Formula string

const (
	// Rate is ours divided by the peer's: more is better.
	Rate Formula = "ours ÷ peer"
	// Speed is the peer's time divided by ours: more is better.
	Speed Formula = "peer ÷ ours"
	// Expense is ours divided by the peer's: less is better.
	Expense Formula = "cost, ours ÷ peer"
	// Extra is what ours costs above the base, divided by what the peer costs above it: less is
	// better.
	Extra Formula = "(ours − base) ÷ (peer − base)"
)

func (f Formula) lessIsBetter() bool { return f == Expense || f == Extra }

// The verdicts on a goal.
const (
	AimMet      = "aim"
	Met         = "pass"
	Missed      = "miss"
	NotMeasured = "not measured"
)

// GoalResult is a goal with its value: the median over the rounds, with the 95 %
// interval.
type GoalResult struct {
	Goal
	Value   Ratio  `json:"value"`
	Verdict string `json:"verdict"`
	// Sure is set if the whole interval is on the same side of AtLeast.
	Sure bool `json:"sure"`
	// Takes says, in words, what is needed to meet the next limit.
	Takes string `json:"takes,omitempty"`
}

// meets reports whether a value meets a limit.
func (g Goal) meets(v, limit float64) bool {
	if g.Of.lessIsBetter() {
		return v <= limit
	}
	return v >= limit
}

// result computes the result of a goal from the readings of all cells.
func (g Goal) result(all map[Cell]readings, seed uint64) GoalResult {
	out := GoalResult{Goal: g, Verdict: NotMeasured}
	rounds := g.rounds(all)
	if len(rounds) == 0 {
		return out
	}
	value, ok := g.interval(rounds, seed)
	if !ok {
		out.Takes = "too noisy: the peer cost no more than native in this run"
		return out
	}
	out.Value, out.Verdict = value, g.verdict(value.Median)
	out.Sure = g.meets(value.Low, g.AtLeast) == g.meets(value.High, g.AtLeast)
	out.Takes = g.takes(out.Verdict, medianOf(rounds, ours), medianOf(rounds, peer), medianOf(rounds, base))
	return out
}

func (g Goal) verdict(v float64) string {
	switch {
	case g.meets(v, g.Aim):
		return AimMet
	case g.meets(v, g.AtLeast):
		return Met
	}
	return Missed
}

// allows returns the value of ours that just meets a limit, given the others' medians.
func (g Goal) allows(limit, peer, base float64) float64 {
	switch g.Of {
	case Speed:
		return peer / limit
	case Extra:
		return base + limit*(peer-base)
	}
	return limit * peer
}

// missed returns how many goals are not met or could not be measured: a condition must not pass
// because nothing was measured.
func missed(goals []GoalResult) (n int) {
	for _, g := range goals {
		if g.Verdict == Missed || g.Verdict == NotMeasured {
			n++
		}
	}
	return n
}

// goals returns the results of those goals of the report's preset that were run; nil if there are none.
func (r *Report) goals(all map[Cell]readings) (out []GoalResult) {
	i := slices.IndexFunc(Presets(), func(p Preset) bool { return p.Name == r.Method.Preset })
	if i < 0 {
		return nil
	}
	for _, g := range Presets()[i].Goals {
		out = append(out, g.result(all, r.Method.Seed))
	}
	return out
}
