package classifier

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/tally"
)

// network is what a network did to a crowd. The zero network does as the scenario expects.
type network struct {
	// steps are those of each kind that ended before the run did, in the order of time.
	steps map[string][]diary.Step
	// last is when the last step of all began.
	last time.Duration
}

// newNetwork is that of a round.
func newNetwork(all lines) network {
	n := network{steps: map[string][]diary.Step{}}
	for _, steps := range all.steps {
		for _, s := range steps {
			n.last = max(n.last, s.Begun)
			if s.Outcome != string(tally.Unfinished) {
				n.steps[kind(s.Do, s.Mistake)] = append(n.steps[kind(s.Do, s.Mistake)], s)
			}
		}
	}
	for _, steps := range n.steps {
		slices.SortFunc(steps, func(a, b diary.Step) int {
			return cmp.Or(cmp.Compare(a.Begun, b.Begun), cmp.Compare(a.User, b.User), cmp.Compare(a.Ended, b.Ended), cmp.Compare(a.Outcome, b.Outcome))
		})
	}
	return n
}

// does is how long a step takes that begins at a time, and what becomes of it: as with the step of its kind that was
// played nearest in time.
func (n network) does(p plan.Step, at time.Duration) (took time.Duration, outcome string) {
	all := n.steps[kind(string(p.Do), p.Mistake)]
	if len(all) == 0 {
		return p.Expect, string(tally.Achieved)
	}
	i := sort.Search(len(all), func(i int) bool { return all[i].Begun >= at })
	if i == len(all) || i > 0 && at-all[i-1].Begun < all[i].Begun-at {
		i--
	}
	return all[i].Ended - all[i].Begun, all[i].Outcome
}

// end is when nothing begins any more in a run of a length: with the last step that was played, but not before the plan's end.
func (n network) end(length time.Duration) time.Duration {
	if n.steps == nil {
		return math.MaxInt64
	}
	return max(n.last, length)
}

// lay lays a planned session of a scenario out as it would have been played by a crowd that is never late. It has no steps
// if the round had ended before.
func (n network) lay(s plan.Session, of scenario.Scenario) happened {
	h, at, kept, length := happened{Session: s}, s.Start, map[string]bool{}, time.Duration(of.Clock.Length)
	for i, p := range s.Steps {
		if at += p.Pause; at > n.end(length) {
			break
		}
		took, outcome := n.does(p, at)
		end := at + took
		if p.Every > 0 {
			if end = min(at+p.Lasts, length); at >= length {
				end, outcome = at, string(tally.Unfinished)
			}
		}
		h.steps = append(h.steps, diary.Step{Where: diary.At(s, i), Do: string(p.Do), Mistake: p.Mistake, Planned: at, Begun: at, Ended: end, Outcome: outcome})
		h.flows = append(h.flows, opens(p, of.Services[p.Do.Service()], kept))
		if outcome != string(tally.Achieved) {
			break
		}
		if kept[p.Do.Service()] = kept[p.Do.Service()] || p.Keep; p.Every == 0 {
			end = max(end, min(at+p.Lasts, length))
		}
		at = end
	}
	return h
}

// opens is how many flows a step to a service opens in a session that has kept connections to some services.
func opens(p plan.Step, to scenario.Service, kept map[string]bool) int {
	service := p.Do.Service()
	switch {
	case p.Mistake == scenario.MistakeName, p.Cache != nil && len(p.Receives) == 0, p.Connections == 0 && kept[service]:
		return 0
	case service == "voice" && p.Every > 0, to.Streams(): // whose connections carry any number of requests at once
		return 1
	}
	return max(1, p.Connections)
}

// Draw draws a crowd of the scenario with a seed, as the network of the round would have treated it. With the run's own seed it
// is what was planned.
func (p Played) Draw(ctx context.Context, seed uint64) ([]Session, error) {
	return p.network.draw(ctx, p.Scenario, seed, p.author)
}

// draw draws a crowd with a seed, as this network would have treated it.
func (n network) draw(ctx context.Context, s scenario.Scenario, seed uint64, author plan.Author) (all []Session, err error) {
	s.Seed = seed
	drawn := plan.New(s, author)
	for number := 1; number <= s.Users; number++ {
		d, err := drawn.User(ctx, number)
		if err != nil {
			return nil, err
		}
		for _, one := range d.Sessions {
			if h := n.lay(one, s); len(h.steps) > 0 {
				all = append(all, h.measure())
			}
		}
	}
	return all, nil
}
