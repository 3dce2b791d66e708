package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// Start says when a session begins. It is small, so that all those of a crowd have room in memory at once; what the
// session does is drawn again when it begins.
type Start struct {
	At        time.Duration // since the crowd began
	User      int32
	Number    int32
	behaviour int16 // in Plan.behaviours
	event     int16 // Session.Event
	// mark is the session's, if it is drawn by a script; or 0.
	mark uint32
}

// Starts lists when the sessions of all users begin, in the order of time.
func (p *Plan) Starts(ctx context.Context) ([]Start, error) {
	return p.StartsOf(ctx, 1, p.scenario.Users)
}

// StartsOf lists when the sessions of some users begin, from the first to the last, in the order of time. The crowd may have
// fewer users: they have the plan that they would have in a larger one.
func (p *Plan) StartsOf(ctx context.Context, first, last int) (all []Start, err error) {
	scripted := firsts{}
	for number := first; number <= last; number++ {
		if err := ctx.Err(); err != nil { // a user with no sessions does not ask
			return nil, err
		}
		d, err := p.User(ctx, number)
		if err != nil {
			return nil, err
		}
		for _, s := range d.Sessions {
			p.note(scripted, s)
			all = append(all, p.start(s))
		}
	}
	slices.SortStableFunc(all, func(a, b Start) int { return cmp.Compare(a.At, b.At) })
	return all, p.drawAgain(ctx, scripted)
}

// start is the start of a planned session.
func (p *Plan) start(s Session) Start {
	i, _ := slices.BinarySearch(p.behaviours, s.Behaviour)
	at := Start{At: s.Start, User: int32(s.User), Number: int32(s.Number), behaviour: int16(i), event: int16(s.Event)}
	if p.scenario.Behaviours[s.Behaviour].Script != "" {
		at.mark = s.mark()
	}
	return at
}

// firsts has the first session of each script, by its behaviour.
type firsts map[string]Start

// note keeps a session that is the first one of a script.
func (p *Plan) note(f firsts, s Session) {
	if _, has := f[s.Behaviour]; !has && p.scenario.Behaviours[s.Behaviour].Script != "" {
		f[s.Behaviour] = p.start(s)
	}
}

// drawAgain finds scripts that do not draw the same again, by a session of each. It cannot find all of them.
func (p *Plan) drawAgain(ctx context.Context, f firsts) error {
	for _, name := range scenario.Sorted(f) {
		if _, err := p.Session(ctx, f[name]); err != nil {
			return err
		}
	}
	return nil
}

// Session draws the session of a Start. The error is that of a script, or of a context that ended.
func (p *Plan) Session(ctx context.Context, at Start) (Session, error) {
	name, user := p.behaviours[at.behaviour], int(at.User)
	s, _, err := p.session(ctx, Session{User: user, Persona: p.Persona(user), Behaviour: name, Number: int(at.Number), Event: int(at.event), Start: at.At},
		p.automata[name].habitsOf(p.scenario.Seed, userName(user)))
	if err == nil && p.scenario.Behaviours[name].Cache != nil {
		return p.remembers(ctx, s)
	}
	if err == nil && at.mark != 0 && at.mark != s.mark() {
		err = heddle.Errorf(heddle.BadArgument, "have a session drawn again by the script of behaviour", name,
			fmt.Sprintf("session %d of user %d is another than when it was planned", s.Number, user), "have the script draw by the question alone: its seed, and no clock")
	}
	return s, err
}

// remembers returns a session with what the user's cache has of its pages. For that it draws all sessions of the behaviour that
// begin before its end.
func (p *Plan) remembers(ctx context.Context, of Session) (Session, error) {
	_, lasts := of.Begins()
	d, err := p.draws(ctx, of.User, func(behaviour string, start time.Duration) bool {
		return behaviour == of.Behaviour && start <= of.Start+lasts
	})
	for _, s := range d.Sessions {
		if s.Number == of.Number {
			return s, nil
		}
	}
	return of, err
}

// Behaviour is the name of the session's behaviour.
func (p *Plan) Behaviour(at Start) string { return p.behaviours[at.behaviour] }

// Between reports whether users do what goes to a service with each other: then a step's To is a user's number.
func (p *Plan) Between(service string) bool { return p.scenario.Services[service].Between > 0 }
