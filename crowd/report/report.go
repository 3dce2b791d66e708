// Package report is what a crowd's run amounts to: how people fared on each network mode, side by side.
package report

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/round"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// Report is a run of a plan on several modes, in rounds.
type Report struct {
	Crowd string `json:"crowd"`
	Seed  uint64 `json:"seed"`
	Users int    `json:"users"`
	// Length of a round, in nanoseconds.
	Length time.Duration `json:"length"`
	// SHA256 is the plan's.
	SHA256 string `json:"sha256"`
	// Modes are those asked for, in that order; LeftOut says of each that could not be played, why.
	Modes   []string          `json:"modes"`
	LeftOut map[string]string `json:"leftOut,omitempty"`
	// Links are those of the personas that have one.
	Links map[string]scenario.Link `json:"links,omitempty"`
	// Events are those of the scenario. What happened in a round is there.
	Events []scenario.Event `json:"events,omitempty"`
	// Services say what answered for each that somebody used.
	Services map[string]Service `json:"services,omitempty"`
	// As is the client that made each user's container; "" is none, and users were namespaces.
	As string `json:"as,omitempty"`
	// Hosts is how many lab hosts had the users in turn; 0 is one.
	Hosts int `json:"hosts,omitempty"`
	// Part is the part of the crowd that it is of; nil is all of it. Merged are the numbers of those that it was merged from.
	Part   *Part `json:"part,omitempty"`
	Merged []int `json:"merged,omitempty"`
	// Rounds are those played, one of each mode in a round, in the order of time.
	Rounds []Round `json:"rounds"`
	// Diary says that one was written, which takes time.
	Diary bool `json:"diary,omitempty"`
	// Partial says why the run ended early; "" if it did not.
	Partial string `json:"partial,omitempty"`
}

// Part is a part of a crowd that several machines play. In a report that was merged it has no number.
type Part struct {
	machine.Part
	// Begin is when all parts began.
	Begin time.Time `json:"begin"`
}

// Round is one mode in one round, from 1.
type Round struct {
	Number int `json:"number"`
	round.Round
}

// Read reads a report that was written as JSON.
func Read(file string) (r Report, err error) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err == nil && len(r.Rounds) == 0 {
		err = fmt.Errorf("it has no rounds")
	}
	if err != nil {
		return r, heddle.Wrap(heddle.BadArgument, "read report", file, err, "name a file that 'heddle crowd run --out' wrote")
	}
	return r, nil
}

// Of lists the rounds of a mode: those that are valid, or all if none is.
func (r Report) Of(mode string) []Round {
	var valid, all []Round
	for _, one := range r.Rounds {
		if one.Mode != mode {
			continue
		}
		all = append(all, one)
		if one.Invalid == "" {
			valid = append(valid, one)
		}
	}
	if len(valid) > 0 {
		return valid
	}
	return all
}

// Valid reports whether a mode has valid rounds.
func (r Report) Valid(mode string) bool {
	return slices.ContainsFunc(r.Rounds, func(one Round) bool { return one.Mode == mode && one.Invalid == "" })
}

// Has reports whether a mode was played in the round of that number.
func (r Report) Has(mode string, number int) bool {
	return slices.ContainsFunc(r.Rounds, func(one Round) bool { return one.Mode == mode && one.Number == number })
}

// Lacks reports whether so many rounds lack one of the modes that can be played.
func (r Report) Lacks(modes []string, rounds int) bool {
	return slices.ContainsFunc(modes, func(mode string) bool {
		for number := 1; number <= rounds; number++ {
			if r.LeftOut[mode] == "" && !r.Has(mode, number) {
				return true
			}
		}
		return false
	})
}

// Numbers is how many rounds there were, at least of one mode.
func (r Report) Numbers() (most int) {
	for _, one := range r.Rounds {
		most = max(most, one.Number)
	}
	return most
}

// Played lists the modes that have rounds, in the order asked for.
func (r Report) Played() []string {
	return slices.DeleteFunc(slices.Clone(r.Modes), func(mode string) bool { return len(r.Of(mode)) == 0 })
}

// Values are those of a figure in the rounds of a mode that have it.
func (r Report) Values(mode string, figure func(Round) (float64, bool)) (all []float64) {
	for _, one := range r.Of(mode) {
		if v, has := figure(one); has {
			all = append(all, v)
		}
	}
	return all
}

// Median is that of a figure over the rounds of a mode; ok is false if no round has it.
func (r Report) Median(mode string, figure func(Round) (float64, bool)) (median float64, ok bool) {
	all := r.Values(mode, figure)
	if len(all) == 0 {
		return 0, false
	}
	return bench.Median(all), true
}

// Ratio is a figure of a mode divided by that of another mode, in the same round.
func (r Report) Ratio(mode, over string, figure func(Round) (float64, bool)) (bench.Ratio, bool) {
	of := func(mode string) map[int]float64 {
		all := map[int]float64{}
		for _, one := range r.Of(mode) {
			if v, has := figure(one); has {
				all[one.Number] = v
			}
		}
		return all
	}
	return bench.PairedRatio(of(mode), of(over), r.Seed)
}

// LostOnLinks is the share of the frames that links lost, for whatever reason; the copies of those that came twice count. It
// is not ok if nobody has a link.
func (r Round) LostOnLinks() (share float64, ok bool) {
	if c := r.OnLinks; c != nil {
		return float64(c.Lost+c.Overflown+c.Refused) / float64(max(1, c.Frames+c.Duplicated)), true
	}
	return 0, false
}

// MissedOnLinks is the share of the frames of links that the crowd itself lost. It is not ok if nobody has a link.
func (r Round) MissedOnLinks() (share float64, ok bool) {
	if c := r.OnLinks; c != nil {
		return float64(c.Missed) / float64(max(1, c.Frames+c.Missed)), true
	}
	return 0, false
}

// Names lists the names of what some rounds have, in order.
func Names[V any](r Report, of func(Round) map[string]V) (all []string) {
	for _, one := range r.Rounds {
		for name := range of(one) {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	slices.Sort(all)
	return all
}
