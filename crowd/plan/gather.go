package plan

import (
	"strconv"
	"time"

	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// gathered draws the one more session that a user begins for each event at which the user gathers. They are numbered
// after those that the user begins anyway, and do not have steps yet. Whether and when depends on seed, user, behaviour and
// the event's time; who gathers in a small share does in a larger one.
func (p *Plan) gathered(user int, persona string, begun map[string]int) (all []Session) {
	for i, e := range p.scenario.Events {
		if e.Gather == "" || e.Persona != "" && e.Persona != persona {
			continue
		}
		s := draw.NewStream(p.scenario.Seed, userName(user), e.Gather, "gather", gatherName(e))
		if !s.Chance(float64(e.Share)) {
			continue
		}
		begun[e.Gather]++
		all = append(all, Session{User: user, Persona: persona, Behaviour: e.Gather, Number: begun[e.Gather], Event: i + 1,
			Start: e.At + time.Duration(s.From(draw.Uniform{High: float64(e.For)}))})
	}
	return all
}

// gatherName names an event in random streams. Its number is not in it: one more event moves nobody.
func gatherName(e scenario.Event) string { return strconv.FormatInt(int64(e.At), 10) }

// stream is that of a session's steps. One for which people gather depends on the event, and not on how many sessions the
// user has begun.
func (p *Plan) stream(s Session) *draw.Stream {
	names := []string{userName(s.User), s.Behaviour, "session", strconv.Itoa(s.Number)}
	if s.Event > 0 {
		names = []string{userName(s.User), s.Behaviour, "gathered session", gatherName(p.scenario.Events[s.Event-1])}
	}
	return draw.NewStream(p.scenario.Seed, names...)
}
