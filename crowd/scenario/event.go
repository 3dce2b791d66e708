package scenario

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/yamlfile"
)

// Event is something that happens to a crowd: a service fails, a persona's link is another one, or people gather. It is
// one of them.
type Event struct {
	// At is when it begins, since the crowd began, and For how long it lasts: true time, in nanoseconds. Without For, it
	// lasts until the crowd ends; events of a scenario have one.
	At  time.Duration `json:"at"`
	For time.Duration `json:"for,omitempty"`
	// Service fails so.
	Service string `json:"service,omitempty"`
	Fault   Fault  `json:"fault,omitempty"`
	// Link is that of a persona's users, in place of their own.
	Link *Link `json:"link,omitempty"`
	// Gather is a behaviour: that share of the users begin one more session of it, each at a moment within For.
	Gather string `json:"gather,omitempty"`
	Share  Share  `json:"share,omitempty"`
	// Persona whose link it is, or who gather; "" for all who gather.
	Persona string `json:"persona,omitempty"`
}

// Fault is how a service fails.
type Fault string

// The faults of services.
const (
	Sound Fault = "" // it has none
	// Down is a service that is not there: connections are refused, those that are open are reset.
	Down Fault = "down"
	// Silent is a service that takes connections and requests, and answers none of them until it is sound.
	Silent Fault = "silent"
)

// Faults lists how services fail.
func Faults() []string { return []string{string(Down), string(Silent)} }

// String writes what happens, without the time.
func (e Event) String() string {
	switch {
	case e.Service != "":
		return "service " + e.Service + " " + string(e.Fault)
	case e.Link != nil:
		return "link of " + e.Persona + ": " + e.Link.String()
	case e.Persona != "":
		return impair.FormatShare(float64(e.Share)) + " of " + e.Persona + " begin " + e.Gather
	}
	return impair.FormatShare(float64(e.Share)) + " begin " + e.Gather
}

// SameThing reports whether two events are about the same service, the same link, or sessions of the same people.
func (e Event) SameThing(o Event) bool {
	switch {
	case e.Service != "":
		return e.Service == o.Service
	case e.Link != nil:
		return o.Link != nil && e.Persona == o.Persona
	}
	return e.Gather == o.Gather && (e.Persona == o.Persona || e.Persona == "" || o.Persona == "")
}

const eventWords = "at and for, and service with fault, persona with link, or gather with share"

// UnmarshalYAML reads an event.
func (e *Event) UnmarshalYAML(n *yaml.Node) error {
	all, err := entries(n, "give "+eventWords)
	if err != nil {
		return err
	}
	given := map[string]bool{}
	for _, x := range all {
		text := resolve(x.value).Value // "" of what is no value
		switch key := x.key.Value; key {
		case "at":
			e.At, err = eventTime(x.value, 0)
		case "for":
			e.For, err = eventTime(x.value, 1)
		case "service":
			e.Service = text
		case "fault":
			if e.Fault = Fault(text); !slices.Contains(Faults(), text) {
				err = yamlfile.Refuse(x.value, "%q is no fault of a service; choose from %s", heddle.Clip(text), heddle.List(Faults()))
			}
		case "persona":
			e.Persona = text
		case "link":
			e.Link = &Link{}
			err = e.Link.UnmarshalYAML(x.value)
		case "gather":
			e.Gather = text
		case "share":
			if err = e.Share.UnmarshalYAML(x.value); err == nil && e.Share == 0 {
				err = yamlfile.Refuse(x.value, "nobody gathers; give more than 0%%")
			}
		default:
			err = yamlfile.Refuse(x.key, "%q is no key of an event; give %s", heddle.Clip(key), eventWords)
		}
		if err != nil {
			return err
		}
		given[x.key.Value] = true
	}
	return e.whole(n, given)
}

// whole refuses an event that lacks something, or is more than one.
func (e Event) whole(n *yaml.Node, given map[string]bool) error {
	is := 0
	for _, kind := range []struct {
		key, with string
		others    []string
	}{{"service", "fault", []string{"persona", "link", "gather", "share"}}, {"link", "persona", []string{"service", "fault", "gather", "share"}},
		{"gather", "share", []string{"service", "fault", "link"}}} {
		if !given[kind.key] {
			continue
		}
		is++
		if !given[kind.with] {
			return yamlfile.Refuse(n, "it has %s without %s; give both", kind.key, kind.with)
		}
		for _, other := range kind.others {
			if given[other] {
				return yamlfile.Refuse(n, "it has %s and %s; make two events of it", kind.key, other)
			}
		}
	}
	switch {
	case is == 0:
		return yamlfile.Refuse(n, "nothing happens; give service with fault, persona with link, or gather with share")
	case !given["at"] || !given["for"]:
		return yamlfile.Refuse(n, "it does not say when; give at and for, such as at: 10m, for: 2m")
	}
	return nil
}

// eventTime reads a time since the crowd began, or how long something lasts.
func eventTime(n *yaml.Node, least time.Duration) (time.Duration, error) {
	text := resolve(n).Value
	d, err := time.ParseDuration(text)
	if err != nil || d < least || d > MaxLength {
		return 0, yamlfile.Refuse(n, "%q is no such time; give one such as 2m, up to %v", heddle.Clip(text), MaxLength)
	}
	return d, nil
}
