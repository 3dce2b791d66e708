package report

import (
	"slices"

	"github.com/heddle-network/heddle/bench"
	"github.com/heddle-network/heddle/crowd/tally"
	"github.com/heddle-network/heddle/limit"
)

// Figure is something that a round has, such as how long people waited for pages.
type Figure struct {
	// Part is the heading that it stands under, Label its line there.
	Part, Label string
	// Metric names it in conditions; "" if it has no name there.
	Metric string
	// Behaviour or Action is the one that it is of; "" if it is of the whole crowd.
	Behaviour, Action string
	Unit              Unit
	// Better says which values are: bench's HigherIsBetter, LowerIsBetter, or Informative.
	Better string
	// Detail: most readers can do without.
	Detail bool
	// Value is its value in a round; ok is false if the round has none.
	Value func(Round) (v float64, ok bool)
}

// Name is the figure in words.
func (f Figure) Name() string {
	if f.Part == sessionsAchieved {
		return f.Part + ", " + f.Label
	}
	return f.Label
}

// sessionsAchieved is a part whose labels say nothing without it.
const sessionsAchieved = "sessions achieved"

// Unit is what values are in.
type Unit string

// The units, in the words of conditions where these have some.
const (
	Time   Unit = "ns"
	Share  Unit = limit.RatioUnit
	Bytes  Unit = "B"
	Number Unit = "" // of sessions, videos, steps
	Score  Unit = "score"
	// Processors is how many were busy.
	Processors Unit = "processors"
)

// Parts lists the figures of the report's rounds under their headings, in the order in which people read them.
func (r Report) Parts() [][]Figure {
	return [][]Figure{achieved(r), sessions(), waited(r), caches(r), slices.Concat(media(), costs()), failures(r)}
}

// Figures lists them all.
func (r Report) Figures() []Figure { return slices.Concat(r.Parts()...) }

// achieved are the shares of the planned sessions whose steps were all done.
func achieved(r Report) []Figure {
	figure := Figure{Part: sessionsAchieved, Label: "all", Metric: "achieved", Unit: Share, Better: bench.HigherIsBetter,
		Value: func(one Round) (float64, bool) { return one.Sessions().Share() }}
	all := []Figure{figure}
	for _, name := range Names(r, func(one Round) map[string]tally.Sessions { return one.Behaviours }) {
		figure.Label, figure.Behaviour = name, name
		figure.Value = func(one Round) (float64, bool) { return one.Behaviours[name].Share() }
		all = append(all, figure)
	}
	return all
}

// sessions are what became of all of them.
func sessions() []Figure {
	count := func(label, metric, better string, of func(tally.Sessions) int64) Figure {
		return Figure{Part: "sessions", Label: label, Metric: metric, Better: better,
			Value: func(one Round) (float64, bool) { return float64(of(one.Sessions())), true }}
	}
	return []Figure{
		count("intended", "", bench.Informative, func(s tally.Sessions) int64 { return s.Intended }),
		count("achieved", "", bench.Informative, func(s tally.Sessions) int64 { return s.Achieved }),
		count("failed", "failed", bench.LowerIsBetter, func(s tally.Sessions) int64 { return s.Failed }),
		count("gave up", "gave-up", bench.LowerIsBetter, func(s tally.Sessions) int64 { return s.GivenUp }),
		count("unfinished", "unfinished", bench.LowerIsBetter, func(s tally.Sessions) int64 { return s.Unfinished }),
		{Part: "sessions", Label: "left", Better: bench.Informative,
			Value: func(one Round) (float64, bool) { n := one.Sessions().Left; return float64(n), n > 0 }},
		count("never began", "never-began", bench.LowerIsBetter, func(s tally.Sessions) int64 { return s.Intended - s.Started }),
		count("began late", "began-late", bench.LowerIsBetter, func(s tally.Sessions) int64 { return s.Late }),
	}
}

// waited is how long people waited, and how satisfied they are.
func waited(r Report) (all []Figure) {
	for _, name := range Names(r, func(one Round) map[string]tally.Steps { return one.Actions }) {
		if name == "voice.call" || name == "video.play" { // they last on any network
			continue
		}
		figure := Figure{Part: "waited, from plan", Action: name, Unit: Time, Better: bench.LowerIsBetter}
		of := func(label, metric string, has func(tally.Steps) bool, value func(tally.Steps) float64) {
			figure.Label, figure.Metric = name+" "+label, metric
			figure.Value = func(one Round) (float64, bool) { a := one.Actions[name]; return value(a), has(a) }
			all = append(all, figure)
		}
		done := func(a tally.Steps) bool { return a.Planned.Count > 0 }
		of("p50", "p50", done, func(a tally.Steps) float64 { return float64(a.Planned.P50) })
		of("p99", "p99", done, func(a tally.Steps) float64 { return float64(a.Planned.P99) })
		figure.Detail = true
		of("service p50", "service-p50", done, func(a tally.Steps) float64 { return float64(a.Service.P50) })
		of("service p99", "service-p99", done, func(a tally.Steps) float64 { return float64(a.Service.P99) })
		if tally.Targets[name] > 0 {
			figure.Detail, figure.Unit, figure.Better = false, Score, bench.HigherIsBetter
			rated := func(a tally.Steps) bool { return a.Count > 0 && a.Apdex >= 0 }
			of("Apdex", "apdex", rated, func(a tally.Steps) float64 { return a.Apdex })
		}
	}
	return all
}

// media are calls and videos, and frames on users' links.
func media() []Figure {
	of := func(label, metric string, unit Unit, better string, has func(Round) bool, value func(Round) float64) Figure {
		return Figure{Part: "calls, videos, cost", Label: label, Metric: metric, Unit: unit, Better: better,
			Value: func(one Round) (float64, bool) { return value(one), has(one) }}
	}
	calls := func(r Round) bool { return r.Calls.Count > 0 }
	videos := func(r Round) bool { return r.Videos.Count > 0 }
	return []Figure{
		of("calls, MOS p10", "mos-p10", Score, bench.HigherIsBetter, calls, func(r Round) float64 { return r.Calls.MOSP10 }),
		of("calls, MOS p50", "mos-p50", Score, bench.HigherIsBetter, calls, func(r Round) float64 { return r.Calls.MOSP50 }),
		of("calls, lost", "calls-lost", Share, bench.LowerIsBetter, calls, func(r Round) float64 { return r.Calls.Lost }),
		of("videos, start p50", "video-start", Time, bench.LowerIsBetter, videos, func(r Round) float64 { return float64(r.Videos.Start.P50) }),
		of("videos, never began", "videos-never-began", Number, bench.LowerIsBetter,
			func(r Round) bool { return r.Videos.Count+r.Videos.Never > 0 }, func(r Round) float64 { return float64(r.Videos.Never) }),
		of("videos, stalled", "stalled", Share, bench.LowerIsBetter, videos, func(r Round) float64 { return r.Videos.Stalled }),
		{Part: "calls, videos, cost", Label: "links, frames lost", Metric: "links-lost", Unit: Share, Better: bench.Informative, Value: Round.LostOnLinks},
		{Part: "calls, videos, cost", Label: "links, frames missed", Metric: "links-missed", Unit: Share, Better: bench.LowerIsBetter, Value: Round.MissedOnLinks},
	}
}

// costs are what the crowd cost.
func costs() []Figure {
	of := func(label, metric string, unit Unit, value func(Round) float64) Figure {
		return Figure{Part: "calls, videos, cost", Label: label, Metric: metric, Unit: unit, Better: bench.LowerIsBetter,
			Value: func(one Round) (float64, bool) { return value(one), true }}
	}
	memory := of("memory a user", "memory", Bytes, nil)
	memory.Value = func(r Round) (float64, bool) { return float64(r.MemoryPerUser), r.MemoryPerUser > 0 }
	return []Figure{
		of("attached in", "attached", Time, func(r Round) float64 { return float64(r.Attached) }),
		of("detached in", "detached", Time, func(r Round) float64 { return float64(r.Detached) }),
		of("processors, crowd", "processors", Processors, func(r Round) float64 { return r.Processor }),
		of("processors, machine", "machine", Processors, func(r Round) float64 { return r.Machine }),
		memory,
		of("crowd's lag p99", "lag", Time, func(r Round) float64 { return float64(r.Late()) }),
	}
}

// failures are why steps failed.
func failures(r Report) (all []Figure) {
	count := func(one Round) map[string]int64 {
		all := map[string]int64{}
		for _, f := range one.Failures {
			all[f.Why] = f.Count
		}
		return all
	}
	for _, why := range Names(r, count) {
		all = append(all, Figure{Part: "steps failed", Label: why, Better: bench.Informative,
			Value: func(one Round) (float64, bool) { return float64(count(one)[why]), true }})
	}
	return all
}
