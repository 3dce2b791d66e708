package scenario_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/impair"
)

// eventful is a good scenario with a link for persona two, and events.
func eventful(events ...string) string {
	text := strings.Replace(good, "{share: 0.4,", "{share: 0.4, link: sound,", 1) + "events:\n"
	for _, e := range events {
		text += "  - {" + e + "}\n"
	}
	return text
}

// TestEvents reads one of each kind. Who gathers may do what no persona does.
func TestEvents(t *testing.T) {
	s, err := scenario.Parse([]byte(eventful("at: 10m, for: 2m, service: files, fault: down", "at: 12m, for: 2m, service: files, fault: silent",
		"at: 0s, for: 90m, persona: two, link: {delay: 300ms, loss: 5%}", "at: 1h, for: 30m, gather: video, share: 50%",
		"at: 5m, for: 2m, gather: call, share: 0.1, persona: one")))
	if err != nil {
		t.Fatal(err)
	}
	bad := scenario.Link{Impairment: impair.Impairment{Delay: 300 * time.Millisecond, Loss: 0.05}}
	var words []string
	for _, e := range s.Events {
		words = append(words, fmt.Sprintf("%s at %s for %s", e, scenario.Short(e.At), scenario.Short(e.For)))
	}
	want := "service files down at 10m for 2m|service files silent at 12m for 2m|link of two: delay 300ms, loss 5% at 0s for 1h30m|" +
		"50% begin video at 1h for 30m|10% of one begin call at 5m for 2m"
	if got := strings.Join(words, "|"); got != want || *s.Events[2].Link != bad {
		t.Errorf("%s\nand not\n%s", got, want)
	}
	if _, there := s.Behaviours["video"]; !there || !strings.Contains(strings.Join(s.Uses(), " "), "video") {
		t.Errorf("people gather for videos, and %v are used", s.Uses())
	}
	if l := s.Personas["two"].Link; l == nil || l.String() != "sound" {
		t.Errorf("two has the link %v", l)
	}
}

// TestEventsRefused: what is wrong with an event is told with its line, its key, and what to do.
func TestEventsRefused(t *testing.T) {
	const line, first = "line 20, ", "at: 10m, for: 2m, service: files, fault: down"
	for events, want := range map[string]string{
		"at: 10m, for: 2m":                                       "line 20, events: nothing happens; give service with fault",
		"service: files, fault: down, for: 2m":                   "it does not say when; give at and for",
		"at: 10m, service: files, fault: down":                   "it does not say when",
		"at: 10m, for: 2m, service: files":                       "it has service without fault; give both",
		"at: 10m, for: 2m, fault: down":                          "nothing happens",
		"at: 10m, for: 2m, link: sound":                          "it has link without persona",
		"at: 10m, for: 2m, gather: call":                         "it has gather without share",
		"at: 10m, for: 2m, persona: two":                         "nothing happens",
		first + ", persona: one":                                 "it has service and persona; make two events of it",
		first + ", gather: call, share: 1":                       "it has service and gather; make two",
		"at: 1m, for: 2m, persona: two, link: sound, share: 3%":  "it has link and share; make two",
		first + ", why: bad":                                     `line 20, events.why: "why" is no key of an event; give at and for`,
		first + ", at: 1m":                                       `"at" is given twice`,
		"at: soon, for: 2m, service: files, fault: down":         `line 20, events.at: "soon" is no such time; give one such as 2m, up to 168h0m0s`,
		"at: -1s, for: 2m, service: files, fault: down":          `"-1s" is no such time`,
		"at: 1s, for: 0s, service: files, fault: down":           `line 20, events.for: "0s" is no such time`,
		"at: 1s, for: 169h, service: files, fault: down":         `"169h" is no such time`,
		"at: 89m, for: 2m, service: files, fault: down":          "line 20, events.1.at: it ends 1h31m after the crowd began, which lives for 1h30m",
		"at: 1s, for: 2m, service: files, fault: slow":           `line 20, events.fault: "slow" is no fault of a service; choose from down, silent`,
		"at: 1s, for: 2m, service: mail, fault: down":            `line 20, events.1.service: nobody's steps go to a service "mail"; choose from files, web`,
		"at: 1s, for: 2m, service: voice, fault: down":           "line 20, events.1.service: calls go from user to user, so they have no server that could fail; choose from files",
		"at: 1s, for: 2m, persona: three, link: sound":           `line 20, events.1.persona: there is no persona "three"; choose from one, two`,
		"at: 1s, for: 2m, persona: one, link: {delay: 3ms}":      "line 20, events.1.persona: one has no link that could change, and links are put before the crowd begins; give the persona a link; 'link: sound' is",
		"at: 1s, for: 2m, persona: two, link: {delay: 3}":        `line 20, events.link.delay: "3" is no duration`,
		"at: 1s, for: 2m, persona: two, link: {loss: 0%}":        "line 20, events.link: it changes nothing; leave link out",
		"at: 1s, for: 2m, persona: two, link: sound":             "line 20, events.1.link: it is the persona's own link; give another one",
		"at: 1s, for: 2m, gather: sing, share: 1%":               `line 20, events.1.gather: there is no behaviour "sing"; choose from browse`,
		"at: 1s, for: 2m, gather: call, share: 0%":               "line 20, events.share: nobody gathers; give more than 0%",
		"at: 1s, for: 2m, gather: call, share: 101%":             `line 20, events.share: "101%" is not a share`,
		"at: 1s, for: 2m, gather: call, share: 1%, persona: all": `line 20, events.1.persona: there is no persona "all"`,
	} {
		_, err := scenario.Parse([]byte(eventful(events)))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), line) {
			t.Errorf("%q: %v, and not %q", events, err, want)
		}
	}
	for _, x := range []struct {
		a, b string
		fit  bool
	}{
		{first, "at: 12m, for: 2m, service: files, fault: silent", true},
		{first, "at: 11m, for: 2m, service: files, fault: silent", false},
		{first, "at: 9m, for: 61s, service: files, fault: down", false},
		{first, "at: 1m, for: 1h, service: web, fault: down", true},
		{"at: 1m, for: 1m, gather: call, share: 1%", "at: 1m, for: 1m, gather: browse, share: 1%", true},
		{"at: 1m, for: 1m, gather: call, share: 1%", "at: 1m, for: 1m, gather: call, share: 1%, persona: one", false},
		{"at: 1m, for: 1m, gather: call, share: 1%, persona: two", "at: 1m, for: 1m, gather: call, share: 1%, persona: one", true},
		{"at: 1m, for: 1m, gather: call, share: 1%, persona: two", "at: 1m, for: 1m, persona: two, link: {loss: 1%}", true},
	} {
		_, err := scenario.Parse([]byte(eventful(x.a, x.b)))
		if (err == nil) != x.fit || err != nil && !strings.Contains(err.Error(), "line 21, events.2.at: while it lasts, there is another one of the same") {
			t.Errorf("%s, %s: %v", x.a, x.b, err)
		}
	}
	var many []string
	for i := range 101 {
		many = append(many, fmt.Sprintf("at: %ds, for: 1s, service: web, fault: down", i))
	}
	if _, err := scenario.Parse([]byte(eventful(many...))); err == nil || !strings.Contains(err.Error(), "events: there are 101; give up to 100") {
		t.Error(err)
	}
	if _, err := scenario.Parse([]byte(eventful(many[:100]...))); err != nil {
		t.Error(err)
	}
	if _, err := scenario.Parse([]byte(good + "events: {}\n")); err == nil || !strings.Contains(err.Error(), "line 19: a mapping is of the wrong kind; give a list") {
		t.Error(err)
	}
}

// TestGatheringIsWork: people who gather are counted before their sessions are drawn.
func TestGatheringIsWork(t *testing.T) {
	all := []string{}
	for i := range 90 {
		all = append(all, fmt.Sprintf("at: %dm, for: 1m, gather: browse, share: 100%%", i))
	}
	s, err := scenario.Parse([]byte(eventful(all...)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Resize(200_000); err == nil || !strings.Contains(err.Error(), "all of them would have up to") {
		t.Error(err)
	}
}

// TestCheckFault: by hand come faults of services and links alone, that the scenario has.
func TestCheckFault(t *testing.T) {
	s, err := scenario.Parse([]byte(eventful("at: 10m, for: 2m, service: files, fault: down")))
	if err != nil {
		t.Fatal(err)
	}
	lossy := scenario.Link{Impairment: impair.Impairment{Loss: 0.05}}
	for _, e := range []scenario.Event{{Service: "files", Fault: scenario.Silent}, {Service: "web", Fault: scenario.Down, For: time.Minute}, {Persona: "two", Link: &lossy}} {
		if err := s.CheckFault(e); err != nil {
			t.Errorf("%v: %v", e, err)
		}
	}
	backward := scenario.Link{Impairment: impair.Impairment{Delay: -1}}
	for _, e := range []scenario.Event{{}, {Service: "files"}, {Fault: scenario.Down}, {Service: "files", Fault: "slow"}, {Service: "mail", Fault: scenario.Down},
		{Service: "files", Fault: scenario.Down, Persona: "one"}, {Service: "files", Fault: scenario.Down, Link: &lossy, Persona: "two"}, {Service: "files", Fault: scenario.Down, For: -1},
		{Service: "files", Fault: scenario.Down, For: scenario.MaxLength + 1}, {Gather: "call", Share: 1}, {Persona: "one", Link: &lossy}, {Link: &lossy},
		{Persona: "two", Link: &scenario.Link{}}, {Persona: "two", Link: &backward}, {Persona: "two", Link: &scenario.Link{Rate: 7}}} {
		if err := s.CheckFault(e); !errors.Is(err, heddle.BadArgument.Sentinel()) {
			t.Errorf("%+v: %v", e, err)
		}
	}
}
