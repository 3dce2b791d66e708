package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/capture"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/link"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/tally"
)

// Merge makes one report of those of the parts of a crowd. What is missing makes it partial, and its round not valid. Reports that are not parts of one run are
// refused.
func Merge(all []Report) (Report, error) {
	all = slices.Clone(all)
	if err := mergeable(all); err != nil {
		return Report{}, err
	}
	slices.SortFunc(all, func(a, b Report) int { return cmp.Compare(a.Part.Number, b.Part.Number) })
	merged := all[0]
	merged.Part = &Part{machine.Part{Of: all[0].Part.Of}, all[0].Part.Begin}
	merged.Partial, merged.Diary, merged.Merged, merged.Rounds = "", false, nil, nil
	var ended []string
	var rounds []Round
	for _, r := range all {
		merged.Merged = append(merged.Merged, r.Part.Number)
		merged.Diary = merged.Diary || r.Diary
		if r.Partial != "" {
			ended = append(ended, fmt.Sprintf("part %s: %s", r.Part, r.Partial))
		}
		rounds = append(rounds, r.Rounds[0])
	}
	one, err := mergeRounds(rounds, func(i int) string { return "part " + all[i].Part.String() })
	if err != nil {
		return Report{}, err
	}
	if missing := merged.missing(); missing != "" {
		ended = append(ended, missing)
		one.Invalid = strings.Join(append(nonEmpty(one.Invalid), missing), "; ")
	}
	merged.Partial, merged.Rounds = strings.Join(ended, "; "), []Round{one}
	return merged, nil
}

// missing says which parts are; "" if all are there.
func (r Report) missing() string {
	var all []string
	for number := 1; number <= r.Part.Of; number++ {
		if !slices.Contains(r.Merged, number) {
			all = append(all, machine.Part{Number: number, Of: r.Part.Of}.String())
		}
	}
	switch len(all) {
	case 0:
		return ""
	case 1:
		return "the report of part " + all[0] + " is missing"
	}
	return "the reports of parts " + heddle.List(all) + " are missing"
}

// mergeable refuses reports that are not those of different parts of one run.
func mergeable(all []Report) error {
	refuse := func(why, remedy string) error {
		return heddle.Errorf(heddle.BadArgument, "merge reports", "", why, remedy)
	}
	const remedy = "give the reports of all parts of one run, each once"
	if len(all) == 0 {
		return refuse("there are none", remedy)
	}
	seen := map[int]bool{}
	for i, r := range all {
		switch first := all[0]; {
		case r.Part == nil || r.Merged != nil:
			return refuse(fmt.Sprintf("report %d is not that of a part", i+1), "give what 'heddle crowd run --part --out' wrote on each machine")
		case len(r.Rounds) != 1 || r.Rounds[0].Sheet == nil || r.Part.Number < 1 || r.Part.Number > r.Part.Of || r.Part.Of > machine.MaxParts:
			return refuse(fmt.Sprintf("report %d lacks what is needed to add it to others", i+1), "give it as it was written")
		case r.Part.Of != first.Part.Of:
			return refuse(fmt.Sprintf("they are of crowds in %d parts, and in %d", first.Part.Of, r.Part.Of), remedy)
		case !r.Part.Begin.Equal(first.Part.Begin):
			return refuse(fmt.Sprintf("one began at %s, another one at %s", first.Part.Begin.Format(time.RFC3339), r.Part.Begin.Format(time.RFC3339)), remedy)
		case seen[r.Part.Number]:
			return refuse("part "+r.Part.String()+" is there twice", remedy)
		}
		seen[r.Part.Number] = true
		if other := slices.Concat(otherPlan(all[0], r), otherLinks(all[0], r), otherEvents(all[0], r), otherServices(all[0], r), otherRound(all[0], r)); other != nil {
			return refuse(fmt.Sprintf("parts %s and %s are of different runs: %s", all[0].Part, r.Part, strings.Join(other, "; ")), remedy)
		}
	}
	return nil
}

// otherRound says in what networks differ.
func otherRound(a, b Report) []string {
	if x, y := a.Rounds[0], b.Rounds[0]; x.Mode != y.Mode || x.Network != y.Network {
		return []string{fmt.Sprintf("network: %s in mode %s, then %s in mode %s", x.Network, x.Mode, y.Network, y.Mode)}
	}
	return nil
}

// mergeRounds adds the rounds of parts. Which says whose each is.
func mergeRounds(all []Round, which func(int) string) (Round, error) {
	sum, counted := all[0], tally.New(nil)
	sum.Users, sum.Attached, sum.Detached, sum.Processor, sum.Machine, sum.MemoryPerUser = 0, 0, 0, 0, 0, 0
	sum.OnLinks, sum.Captured, sum.Events, sum.Ended, sum.Clock, sum.Early, sum.Invalid = nil, nil, nil, nil, nil, nil, ""
	var why []string
	memory, with := int64(0), 0
	for i, r := range all {
		if err := counted.Add(*r.Sheet); err != nil {
			return Round{}, heddle.Wrap(heddle.BadArgument, "merge report of", which(i), err, "give it as it was written")
		}
		sum.Users += r.Users
		sum.Attached, sum.Detached = max(sum.Attached, r.Attached), max(sum.Detached, r.Detached)
		sum.Processor, sum.Machine = sum.Processor+r.Processor, sum.Machine+r.Machine
		if r.MemoryPerUser > 0 {
			memory, with = memory+r.MemoryPerUser*int64(r.Users), with+r.Users
		}
		sum.OnLinks, sum.Captured = addLinks(sum.OnLinks, r.OnLinks), addCaptures(sum.Captured, r.Captured)
		sum.Events = addEvents(sum.Events, r.Events)
		if r.Ended != nil {
			sum.Ended = both(sum.Ended, r.Ended)
		}
		if c := r.Clock; c != nil && (sum.Clock == nil || c.Ahead.Abs() > sum.Clock.Ahead.Abs()) {
			sum.Clock = c
		}
		for _, early := range r.Early {
			if !slices.Contains(sum.Early, early) {
				sum.Early = append(sum.Early, early)
			}
		}
		if r.Invalid != "" {
			why = append(why, which(i)+": "+r.Invalid)
		}
	}
	if with > 0 {
		sum.MemoryPerUser = memory / int64(with)
	}
	sheet, err := counted.Sheet()
	if err != nil {
		return Round{}, heddle.Wrap(heddle.BadArgument, "merge reports", "", err, "report it")
	}
	sum.Sheet, sum.Result, sum.Invalid = &sheet, counted.Result(), strings.Join(why, "; ")
	return sum, nil
}

func addLinks(a, b *link.Count) *link.Count {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &link.Count{Count: a.Plus(b.Count), Missed: a.Missed + b.Missed}
}

func addCaptures(a, b *capture.Count) *capture.Count {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &capture.Count{Packets: a.Packets + b.Packets, Bytes: a.Bytes + b.Bytes, Dropped: a.Dropped + b.Dropped, Unwritten: a.Unwritten + b.Unwritten}
}

// addEvents adds the events of another part. One of the scenario's happens in all of them, and counts once: from when it first began until it
// last ended.
func addEvents(all, more []diary.Event) []diary.Event {
	for _, e := range more {
		i := slices.IndexFunc(all, func(o diary.Event) bool { return !e.ByHand && !o.ByHand && o.Number == e.Number })
		if i < 0 {
			all = append(all, e)
			continue
		}
		all[i].Began, all[i].Ended = min(all[i].Began, e.Began), max(all[i].Ended, e.Ended)
	}
	slices.SortStableFunc(all, func(a, b diary.Event) int { return cmp.Compare(a.Began, b.Began) })
	return all
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
