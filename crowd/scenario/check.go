package scenario

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// problem is what is wrong with a scenario, at the keys that lead there.
type problem struct {
	keys []string
	why  string
}

// wrong returns the problem of a key.
func wrong(why string, keys ...string) *problem { return &problem{keys, why} }

var goodName = lazyregexp.New(`^[a-z][a-z0-9-]{0,31}$`)

func badName(name string, keys ...string) *problem {
	if goodName.MatchString(name) {
		return nil
	}
	return wrong("it is no name; give one to 32 lower-case letters, digits and hyphens, a letter first", keys...)
}

// check returns what is wrong, nil if nothing is.
func (s *Scenario) check() *problem {
	if p := badName(s.Name, "crowd"); p != nil {
		return p
	}
	if s.Users < 1 || s.Users > MaxUsers {
		return wrong(fmt.Sprintf("%d is no number of users; give 1 to %d", s.Users, MaxUsers), "users")
	}
	if s.Clock.Start < 0 {
		return wrong(`it is missing; give one such as "Mon 08:00"`, "clock", "start")
	}
	if s.Clock.Day.Compress < 1 {
		return wrong("it is 0; give 1 or more", "clock", "day", "compress")
	}
	if s.Clock.Length == 0 {
		return wrong("it is missing; give one such as 30m", "clock", "length")
	}
	if s.Clock.Day.Compress > 1440 {
		return wrong("it is too fast; give up to 1440, a day a minute", "clock", "day", "compress")
	}
	for _, name := range Sorted(s.Services) {
		if verbs[name] == nil && name != Names {
			return wrong("there is no such service; choose from "+heddle.List(slices.Sorted(slices.Values(append(Sorted(verbs), Names)))), "services", name)
		}
		if p := s.Services[name].check(name); p != nil {
			return p
		}
	}
	own := 0
	for _, name := range Sorted(s.Behaviours) {
		if !s.Behaviours[name].BuiltIn {
			own++
		}
	}
	if own > maxNamed {
		return wrong(fmt.Sprintf("there are %d; give up to %d", own, maxNamed), "behaviours")
	}
	for _, name := range Sorted(s.Behaviours) {
		if p := s.Behaviours[name].check(name); p != nil {
			return p
		}
	}
	if p := s.checkCaches(); p != nil {
		return p
	}
	if p := s.checkBodies(); p != nil {
		return p
	}
	if p := s.checkMail(); p != nil {
		return p
	}
	return s.checkPersonas()
}

func (s *Scenario) checkPersonas() *problem {
	if len(s.Personas) == 0 || len(s.Personas) > maxNamed {
		return wrong(fmt.Sprintf("there are %d; give 1 to %d", len(s.Personas), maxNamed), "personas")
	}
	total := 0.0
	for _, name := range Sorted(s.Personas) {
		if p := badName(name, "personas", name); p != nil {
			return p
		}
		persona := s.Personas[name]
		if p := persona.Schedule.check("personas", name, "schedule"); p != nil {
			return p
		}
		total += float64(persona.Share)
		for _, does := range Sorted(persona.Does) {
			if _, known := s.Behaviours[does]; !known {
				all := append(BuiltInBehaviours(), Sorted(s.Behaviours)...)
				slices.Sort(all)
				return wrong("there is no such behaviour; choose from "+heddle.List(slices.Compact(all))+
					", or add it to behaviours", "personas", name, "does", does)
			}
		}
	}
	if math.Abs(total-1) > 1e-6 {
		return wrong(fmt.Sprintf("the shares add up to %.4g%%; give shares that add up to 100%%", total*100), "personas")
	}
	if p := s.checkEvents(); p != nil {
		return p
	}
	for _, name := range Sorted(s.Behaviours) {
		if !slices.Contains(s.Done(), name) {
			return wrong("no persona does it; name it under a persona's does, or take it out", "behaviours", name)
		}
	}
	return s.checkWork()
}

// Resize returns the scenario with another number of users.
func (s Scenario) Resize(users int) (Scenario, error) {
	s.Users = users
	if p := s.check(); p != nil {
		return s, heddle.Errorf(heddle.BadArgument, "plan crowd of users", strconv.Itoa(users), p.why, "give another number")
	}
	return s, nil
}

// Sorted lists the keys of a mapping in their order.
func Sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
