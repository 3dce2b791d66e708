package ghosts

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// state is a state of a behaviour, as YAML has it.
type state map[string]any

// step is what somebody does, and for how long nothing afterwards.
type step struct {
	// behaviour and name are those of the built-in state that it is like; a pause has no behaviour.
	behaviour, name string
	after           delay
	// again is how often the step is repeated on average, as by links that are followed.
	again float64
}

// a returns a step like a state of a behaviour that is built in: GHOSTS has no sizes. It makes no mistakes, as there.
func a(behaviour, name string, after delay) step {
	return step{behaviour: behaviour, name: name, after: after}
}

// builtIn are the states of built-in behaviours, by behaviour. Each is read when it is first asked for.
type builtIn map[string]map[string]state

// of returns a copy of the state that a step is like; a pause is like none.
func (b builtIn) of(s step) state {
	is := state{}
	if s.behaviour == "" {
		return is
	}
	if b[s.behaviour] == nil {
		var read struct{ States map[string]state }
		if err := yaml.Unmarshal(scenario.BehaviourText(s.behaviour), &read); err != nil {
			panic(fmt.Sprintf("built-in behaviour %s: %v", s.behaviour, err)) // a test makes each
		}
		b[s.behaviour] = read.States
	}
	from := b[s.behaviour][s.name]
	if from == nil {
		panic(fmt.Sprintf("behaviour %s has no state %s", s.behaviour, s.name)) // a test makes each
	}
	maps.Copy(is, from)
	for _, key := range []string{"think", "next", "mistakes"} {
		delete(is, key)
	}
	return is
}

// makers make steps of a handler's events, by the handler's type. Other types send nothing, or nothing that heddle knows.
var makers = map[string]func(h handler) []step{
	"BrowserChrome": browse, "BrowserFirefox": browse, "BrowserIE": browse, "Curl": browse,
	"Outlook": mail, "Outlookv2": mail,
	"Ssh": shell, "Ftp": transfer, "Sftp": transfer, "Print": printing, "Pidgin": chat,
}

// each makes steps of the events, with the pauses before them.
func (h handler) each(do func(e event, after delay) []step) (all []step) {
	for _, e := range h.Events {
		if e.Before.max > 0 {
			all = append(all, step{name: "pause", after: e.Before})
		}
		all = append(all, do(e, e.After.jittered(h.number("delay-jitter")))...)
	}
	return all
}

// browse loads a page for each event. Who is sticky (stickiness, in percent) follows as many links as stickiness-depth-min and
// -max say.
func browse(h handler) []step {
	follows := min(h.number("stickiness"), 100) / 100 * (h.number("stickiness-depth-min") + h.number("stickiness-depth-max")) / 2
	return h.each(func(e event, after delay) []step {
		switch strings.ToLower(e.Command) {
		case "download":
			return []step{a("transfer", "get", after)}
		case "upload":
			return []step{a("transfer", "put", after)}
		}
		page := a("browse", "visit", after)
		page.again = min(follows, 100)
		return []step{page}
	})
}

// mail has one connection to read mail, and one for each mail that is sent.
func mail(h handler) []step {
	return append([]step{a("mail", "login", delay{})}, h.each(func(e event, after delay) []step {
		switch strings.ToLower(e.Command) {
		case "create", "reply":
			return []step{a("mail", "send", after)}
		case "clickrandomlink":
			return []step{a("mail", "fetch", delay{}), a("browse", "visit", after)}
		}
		return []step{a("mail", "check", delay{}), a("mail", "fetch", after)}
	})...)
}

// commands are those of an event's arguments: host|credentials|command;command.
func (e event) commands() (all []string) {
	for _, arg := range e.Args {
		words := strings.SplitN(fmt.Sprint(arg), "|", 3)
		if len(words) == 3 {
			all = append(all, strings.FieldsFunc(words[2], func(r rune) bool { return r == ';' })...)
		}
	}
	return all
}

// shell logs in for each event, and sends one line after the other.
func shell(h handler) []step {
	between := delay{time.Duration(h.number("TimeBetweenCommandsMin")) * time.Millisecond, time.Duration(h.number("TimeBetweenCommandsMax")) * time.Millisecond}
	between.max = max(between.min, between.max)
	return h.each(func(e event, after delay) []step {
		all := []step{a("ssh", "login", between)}
		for range e.commands() {
			all = append(all, a("ssh", "key", between))
		}
		all[len(all)-1].after = after
		return all
	})
}

// transfer moves a file for each command that gets or puts one. An event without such commands puts a file if that is more probable
// than to get one, and otherwise gets one.
func transfer(h handler) []step {
	up, down := h.number("upload-probability"), h.number("download-probability")
	return h.each(func(e event, after delay) (all []step) {
		for _, c := range e.commands() {
			switch verb, _, _ := strings.Cut(strings.TrimSpace(c), " "); verb {
			case "get":
				all = append(all, a("transfer", "get", delay{}))
			case "put":
				all = append(all, a("transfer", "put", delay{}))
			}
		}
		switch {
		case len(all) > 0:
		case up > down:
			all = []step{a("transfer", "put", after)}
		default:
			all = []step{a("transfer", "get", after)}
		}
		all[len(all)-1].after = after
		return all
	})
}

func printing(h handler) []step {
	return h.each(func(_ event, after delay) []step { return []step{a("print", "job", after)} })
}

func chat(h handler) []step {
	return append([]step{a("chat", "connect", delay{})}, h.each(func(_ event, after delay) []step {
		return []step{a("chat", "message", after)}
	})...)
}
