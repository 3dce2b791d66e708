package classifier

import (
	"slices"
	"time"

	"github.com/heddle-network/heddle/crowd/draw"
)

// wrong is a way in which a crowd can differ from its scenario. It changes the sessions of one behaviour, which are its own.
type wrong struct {
	name string
	make func([]Session, *draw.Stream)
}

// late is how late a crowd is that is late.
const late = 100 * time.Millisecond

// wrongs are those with which a test is tested: whoever does not notice them proves little by noticing nothing.
var wrongs = []wrong{
	{"constant pauses", func(all []Session, _ *draw.Stream) {
		means := meanPauses(all)
		eachPause(all, func(way string, _ time.Duration) time.Duration { return means[way] })
	}},
	{"exponential pauses", func(all []Session, s *draw.Stream) {
		means := meanPauses(all)
		eachPause(all, func(way string, _ time.Duration) time.Duration {
			return time.Duration(s.From(draw.Exponential{MeanValue: float64(means[way])})).Truncate(Resolution)
		})
	}},
	{"regular sessions", regular},
	{late.String() + " late", func(all []Session, _ *draw.Stream) {
		eachPause(all, func(_ string, p time.Duration) time.Duration { return p + late })
	}},
}

// eachPause replaces the pauses of sessions, by the two actions between which they are.
func eachPause(all []Session, with func(way string, pause time.Duration) time.Duration) {
	for _, s := range all {
		for i := 1; i < len(s.Steps); i++ {
			s.Steps[i].Pause = with(s.Steps[i-1].Do+" "+s.Steps[i].Do, s.Steps[i].Pause)
		}
	}
}

func meanPauses(all []Session) map[string]time.Duration {
	means, counts := map[string]time.Duration{}, map[string]time.Duration{}
	eachPause(all, func(way string, pause time.Duration) time.Duration {
		means[way] += pause
		counts[way]++
		return pause
	})
	for way, n := range counts {
		means[way] = (means[way] / n).Truncate(Resolution)
	}
	return means
}

// regular spreads the sessions of each user evenly over the time until the last one of all.
func regular(all []Session, s *draw.Stream) {
	last := time.Duration(0)
	for _, one := range all {
		last = max(last, one.Begun)
	}
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].User == all[from].User {
			to++
		}
		gap := last / time.Duration(to-from)
		begun := time.Duration(s.Unit() * float64(gap))
		for i := from; i < to; i++ {
			all[i].Begun = (begun + gap*time.Duration(i-from)).Truncate(Resolution)
		}
		from = to
	}
}

// copied are sessions that can be changed.
func copied(all []Session) []Session {
	all = slices.Clone(all)
	for i := range all {
		all[i].Steps = slices.Clone(all[i].Steps)
	}
	return all
}
