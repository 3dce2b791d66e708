package plan

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// Plan draws the sessions of a scenario's users.
type Plan struct {
	scenario             scenario.Scenario
	automata             map[string]*automaton
	personas, behaviours []string // in the order of their names
	// popularity has the law of each service that has sites.
	popularity map[string]draw.Zipf
	// pages has that of a site's pages, of each behaviour that has a cache.
	pages  map[string]draw.Zipf
	author Author
	here   Here
}

// Here says which users and services are on this machine, by their number from 1, services in the order of their names. Without one, all are.
type Here struct{ User, Service func(number int) bool }

// Only has needs, and what comes with them, be those of one of several machines. The plan's text stays that of all.
func (p *Plan) Only(h Here) *Plan {
	p.here = h
	return p
}

// user reports whether a user is on this machine.
func (h Here) user(number int) bool { return h.User == nil || h.User(number) }

// New returns the plan of a scenario that has been read and checked. The author may be nil if no behaviour is a script.
func New(s scenario.Scenario, author Author) *Plan {
	p := &Plan{scenario: s, author: author, automata: map[string]*automaton{}, personas: scenario.Sorted(s.Personas),
		behaviours: scenario.Sorted(s.Behaviours),
		popularity: map[string]draw.Zipf{}, pages: map[string]draw.Zipf{}}
	for name, b := range s.Behaviours {
		p.automata[name] = newAutomaton(name, b)
		if b.Cache != nil {
			p.pages[name] = draw.NewZipf(int(b.Cache.Pages), float64(b.Cache.Zipf))
		}
	}
	for name, v := range s.Services {
		p.popularity[name] = draw.NewZipf(max(1, int(v.Sites)), float64(v.Zipf))
	}
	return p
}

// Diary is what one user is planned to do, in the order of time.
type Diary struct {
	User    int    `json:"user"`
	Persona string `json:"persona"`
	// Cut is how many sessions are cut off, for having too many steps or states.
	Cut      int       `json:"cut,omitempty"`
	Sessions []Session `json:"sessions"`
}

// User draws the diary of a user, from 1. It depends on nobody else's, nor on how many users there are. The error is
// that of a context that ended, or of a script.
func (p *Plan) User(ctx context.Context, number int) (Diary, error) {
	return p.draws(ctx, number, func(string, time.Duration) bool { return true })
}

// draws draws some sessions, by their behaviour and when they begin.
func (p *Plan) draws(ctx context.Context, number int, some func(behaviour string, start time.Duration) bool) (Diary, error) {
	d := Diary{User: number, Persona: p.Persona(number), Sessions: []Session{}}
	persona := p.scenario.Personas[d.Persona]
	user := userName(number)
	shift := persona.Schedule.Shift(draw.NewStream(p.scenario.Seed, user, "hours"))
	begun, own := map[string]int{}, map[string]habits{}
	add := func(s Session) error {
		h, is := own[s.Behaviour]
		if !is {
			h = p.automata[s.Behaviour].habitsOf(p.scenario.Seed, user)
			own[s.Behaviour] = h
		}
		s, cut, err := p.session(ctx, s, h)
		if cut {
			d.Cut++
		}
		if len(s.Steps) > 0 { // it may begin with a pause that outlasts the crowd
			d.Sessions = append(d.Sessions, s)
		}
		return err
	}
	for _, does := range scenario.Sorted(persona.Does) {
		if err := ctx.Err(); err != nil {
			return Diary{}, err
		}
		for _, start := range p.arrivals(draw.NewStream(p.scenario.Seed, user, does, "arrivals"), persona, does, shift) {
			if err := ctx.Err(); err != nil {
				return Diary{}, err
			}
			begun[does]++
			if !some(does, start) {
				continue
			}
			if err := add(Session{User: number, Persona: d.Persona, Behaviour: does, Number: begun[does], Start: start}); err != nil {
				return Diary{}, err
			}
		}
	}
	for _, s := range p.gathered(number, d.Persona, begun) {
		if !some(s.Behaviour, s.Start) {
			continue
		}
		if err := add(s); err != nil {
			return Diary{}, err
		}
	}
	slices.SortStableFunc(d.Sessions, func(a, b Session) int { return cmp.Compare(a.Start, b.Start) })
	for _, does := range scenario.Sorted(own) {
		if p.scenario.Behaviours[does].Cache != nil {
			p.browse(does, d.Sessions)
		}
	}
	return d, nil
}

// session draws the steps of a session that has none yet, and whether it was cut off.
func (p *Plan) session(ctx context.Context, s Session, h habits) (Session, bool, error) {
	w := walk{automaton: p.automata[s.Behaviour], plan: p, habits: h, session: &s, targets: map[string]int{},
		limit: time.Duration(p.scenario.Clock.Length), stream: p.stream(s)}
	if p.scenario.Behaviours[s.Behaviour].Script != "" {
		err := w.ask(ctx, p.author)
		return s, false, err
	}
	cut := w.cut()
	return s, cut, nil
}

// userName is a user's in the names of random streams.
func userName(number int) string { return "user " + strconv.Itoa(number) }

// Link is that of a user's persona; nil if it has none. Nothing of a plan depends on it.
func (p *Plan) Link(user int) *scenario.Link { return p.scenario.Personas[p.Persona(user)].Link }

// Persona is a user's. Users follow each other round a circle on which each persona has an arc as long as its share,
// a golden section apart, so that a crowd of any size has all of them as it should, and one more user moves nobody.
func (p *Plan) Persona(number int) string {
	const golden = 0x9e3779b97f4a7c15 // 2^64 / 1.618…
	offset := uint64(draw.NewStream(p.scenario.Seed, "personas").Below(1 << 30))
	at := float64((offset<<34+uint64(number)*golden)>>11) / (1 << 53)
	for _, name := range p.personas {
		if at -= float64(p.scenario.Personas[name].Share); at < 0 {
			return name
		}
	}
	return p.personas[len(p.personas)-1]
}

// arrivals draws when a user begins sessions of a behaviour: a Poisson process, of which moments are left out as
// the user is less active (Lewis and Shedler's thinning).
func (p *Plan) arrivals(
	s *draw.Stream, persona scenario.Persona, does string, shift scenario.Shift,
) (all []time.Duration) {
	rate := float64(persona.Does[does])
	if rate == 0 {
		return nil
	}
	gap := draw.Exponential{MeanValue: float64(time.Hour) / rate}
	clock := p.scenario.Clock
	for at := s.From(gap); at < float64(clock.Length); at += s.From(gap) {
		start := time.Duration(at)
		if s.Chance(persona.Schedule.Weight(clock.At(start), shift)) {
			all = append(all, start)
		}
	}
	return all
}
