package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/heddle-network/heddle"
)

// maxEvents is how many events a scenario has at most.
const maxEvents = 100

// checkEvents returns what is wrong with the events of a scenario whose personas are right.
func (s *Scenario) checkEvents() *problem {
	if len(s.Events) > maxEvents {
		return wrong(fmt.Sprintf("there are %d; give up to %d", len(s.Events), maxEvents), "events")
	}
	for i, e := range s.Events {
		at := func(key string) []string { return []string{"events", strconv.Itoa(i + 1), key} }
		if length := time.Duration(s.Clock.Length); e.At+e.For > length {
			return wrong(fmt.Sprintf("it ends %s after the crowd began, which lives for %s; let it begin earlier, or be shorter",
				Short(e.At+e.For), Short(length)), at("at")...)
		}
		if key, cause, remedy := s.unfit(e); key != "" {
			return wrong(cause+"; "+remedy, at(key)...)
		}
		for _, o := range s.Events[:i] {
			if e.SameThing(o) && e.At < o.At+o.For && o.At < e.At+e.For {
				return wrong(fmt.Sprintf("while it lasts, there is another one of the same (%s, at %s for %s); let one end before the other begins",
					o, Short(o.At), Short(o.For)), at("at")...)
			}
		}
	}
	return nil
}

// unfit says which key of an event names what the scenario has not, why, and what to do; "" if none does.
func (s *Scenario) unfit(e Event) (key, cause, remedy string) {
	persona, known := s.Personas[e.Persona]
	_, behaviour := s.Behaviours[e.Gather]
	switch {
	case e.Service == voice:
		return "service", "calls go from user to user, so they have no server that could fail", "choose from " + heddle.List(s.CanFail())
	case e.Service != "" && !slices.Contains(s.CanFail(), e.Service):
		return "service", fmt.Sprintf("nobody's steps go to a service %q", heddle.Clip(e.Service)), "choose from " + heddle.List(s.CanFail())
	case e.Persona != "" && !known:
		return "persona", fmt.Sprintf("there is no persona %q", heddle.Clip(e.Persona)), "choose from " + heddle.List(Sorted(s.Personas))
	case e.Link != nil && persona.Link == nil:
		return "persona", e.Persona + " has no link that could change, and links are put before the crowd begins",
			"give the persona a link; 'link: sound' is one that changes nothing by itself"
	case e.Link != nil && *e.Link == *persona.Link:
		return "link", "it is the persona's own link", "give another one"
	case e.Gather != "" && !behaviour:
		all := append(BuiltInBehaviours(), Sorted(s.Behaviours)...)
		slices.Sort(all)
		return "gather", fmt.Sprintf("there is no behaviour %q", heddle.Clip(e.Gather)), "choose from " + heddle.List(slices.Compact(all)) + ", or add it to behaviours"
	}
	return "", "", ""
}

// voice is the service of calls.
const voice = "voice"

// CanFail lists the services that somebody's steps go to, or that names are from, and that can fail: calls go from user to user.
func (s *Scenario) CanFail() []string {
	return slices.DeleteFunc(Sorted(s.Servers()), func(name string) bool { return name == voice })
}

// CheckFault refuses a fault that is given by hand and cannot be put, whoever gives it: a service fails, or a persona's
// link is another one.
func (s *Scenario) CheckFault(e Event) error {
	refuse := func(cause, remedy string) error {
		return heddle.Errorf(heddle.BadArgument, "begin fault", heddle.Clip(e.String()), cause, remedy)
	}
	isLink := e.Link != nil
	if isLink == (e.Service != "") || e.Gather != "" || e.Share != 0 || isLink != (e.Persona != "") || (e.Service != "") != (e.Fault != "") {
		return heddle.Errorf(heddle.BadArgument, "begin fault", "", "it is not one of a service, or of a link", "give one of them")
	}
	if e.Fault != "" && !slices.Contains(Faults(), string(e.Fault)) {
		return refuse("there is no such fault", "choose from "+heddle.List(Faults()))
	}
	if e.For < 0 || e.For > MaxLength {
		return refuse(fmt.Sprintf("%v is no time for which it could last", e.For), fmt.Sprintf("give up to %v", MaxLength))
	}
	if key, cause, remedy := s.unfit(e); key != "" {
		return refuse(cause, remedy)
	}
	if isLink {
		return e.Link.Check()
	}
	return nil
}
