package scenario

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/yamlfile"
)

// Server is what answers for a service. It does not change the plan.
type Server struct {
	// By is a program; "" is the service that is built in.
	By string
	// TLS secures its connections.
	TLS bool
	// HTTP is the version that people speak with it: 2, 3, or 0 for 1.1.
	HTTP int
}

// Streams reports whether people have all their requests of a step on one connection, beside each other.
func (s Server) Streams() bool { return s.HTTP != 0 }

// MaxHead is the size of the largest request without a body over HTTP, in bytes, and of the largest one over HTTP/2 and HTTP/3. One line of it
// must fit into what servers take, which is 8 KiB (large_client_header_buffers of nginx, LimitRequestFieldSize of Apache).
const MaxHead = 4 << 10

// FilesOfProgram is how many files a process of a program has open beside connections, at most: listeners, contents, the log,
// channels between its processes. No source: a guess.
const FilesOfProgram = 64

// FilesOfNames is how many files unbound has open besides, at most: a socket for each question that is under way.
const FilesOfNames = 512

// ability is what a program can do.
type ability struct {
	// services may be by it.
	services []string
	// http are the versions of HTTP that people may speak with it, as in Server. tls: it may be secured by TLS.
	http []int
	tls  bool
}

// websites are the services with which people may speak HTTP.
var websites = []string{"files", "search", "video", "web"}

// speaks reports whether people may speak a version of HTTP with it, or none.
func (a ability) speaks(http int) bool {
	return a.http == nil && http == 0 || slices.Contains(a.http, http)
}

// versions are those of HTTP in words.
func (a ability) versions() (all []string) {
	for _, http := range a.http {
		all = append(all, version(http))
	}
	return all
}

// remedy is what gives people a version that they may speak with it.
func (a ability) remedy() string {
	if a.http[0] == 0 {
		return "take http out"
	}
	return fmt.Sprintf("give http: %d", a.http[0])
}

// without is how a service is had over HTTP/1.1.
func (s Server) without(service string) string {
	if s.By != "" && !abilities[s.By].speaks(0) {
		return "take http, tls and by out of service " + service
	}
	return "take http out of service " + service
}

// version is a version of HTTP in words.
func version(http int) string {
	if http == 0 {
		return "HTTP/1.1"
	}
	return fmt.Sprintf("HTTP/%d", http)
}

// abilities are those of each program.
var abilities = map[string]ability{
	"caddy":   {services: websites, http: []int{3}, tls: true},
	"dovecot": {services: []string{"mail"}, tls: true},
	"nginx":   {services: websites, http: []int{0, 2}, tls: true},
	"openssh": {services: []string{"shell"}},
	"redis":   {services: []string{"chat", "domain", "print"}, tls: true},
	"unbound": {services: []string{Names}},
}

// KnownPrograms lists the programs that services may be by.
func KnownPrograms() []string { return Sorted(abilities) }

// programsOf lists the programs that a service may be by.
func programsOf(service string) (all []string) {
	for _, program := range KnownPrograms() {
		if slices.Contains(abilities[program].services, service) {
			all = append(all, program)
		}
	}
	return all
}

// read reads one key.
func (s *Server) read(key string, value *yaml.Node) error {
	text := resolve(value).Value // "" of what is no value
	if key == "by" {
		if _, known := abilities[text]; !known {
			return yamlfile.Refuse(value, "%q is no program that heddle knows; give %s, or leave by out for the built-in service",
				heddle.Clip(text), heddle.List(KnownPrograms()))
		}
		s.By = text
		return nil
	}
	if key == "http" {
		switch text {
		case "2":
			s.HTTP = 2
		case "3":
			s.HTTP = 3
		default:
			return yamlfile.Refuse(value, "%q is no version to choose; give 2 or 3, or leave http out for 1.1", heddle.Clip(text))
		}
		return nil
	}
	if resolve(value).Tag != "!!bool" || resolve(value).Decode(&s.TLS) != nil {
		return yamlfile.Refuse(value, "%q is neither true nor false", heddle.Clip(text))
	}
	return nil
}

// check returns what is wrong with the server of a service.
func (s Server) check(service string) *problem {
	can, is := programsOf(service), abilities[s.By]
	speak := slices.DeleteFunc(slices.Clone(can), func(by string) bool { return !abilities[by].speaks(s.HTTP) })
	switch {
	case s.By != "" && can == nil:
		return wrong("this service is always the built-in one; take by out", "services", service, "by")
	case s.By != "" && !slices.Contains(can, s.By):
		return wrong("it cannot be by "+s.By+"; choose from "+heddle.List(can), "services", service, "by")
	case s.By != "" && s.HTTP != 0 && is.http == nil:
		return wrong(s.By+" does not speak HTTP; take http out", "services", service, "http")
	case s.By != "" && !is.speaks(s.HTTP):
		return wrong(fmt.Sprintf("%s speaks %s here, not %s; %s, or give by: %s", s.By, heddle.List(is.versions()), version(s.HTTP), is.remedy(), speak[0]), "services", service, "by")
	case s.By != "" && s.TLS && !is.tls:
		return wrong(s.By+" does not use TLS here; take tls out", "services", service, "tls")
	case s.HTTP != 0 && !s.TLS:
		return wrong(version(s.HTTP)+" is over TLS alone; add tls: true, or "+s.without(service), "services", service, "http")
	case s.By == "" && s.TLS && len(speak) > 0 && abilities[speak[0]].tls:
		return wrong("the built-in service has no TLS; add by: "+speak[0], "services", service, "tls")
	case s.By == "" && s.TLS:
		return wrong("the built-in service has no TLS; take it out", "services", service, "tls")
	}
	return nil
}

// checkBodies refuses requests that have a body where none can be sent.
func (s *Scenario) checkBodies() *problem {
	for _, does := range Sorted(s.Behaviours) {
		for _, name := range Sorted(s.Behaviours[does].States) {
			state := s.Behaviours[does].States[name]
			by := s.Services[state.Do.Service()].Server
			if state.Do == "" || !by.Streams() || state.Sends.most() <= MaxHead {
				continue
			}
			why := "over " + version(by.HTTP) + " a request has 4KiB at most; give a max or cap, or " + by.without(state.Do.Service())
			if s.Behaviours[does].BuiltIn {
				return wrong("behaviour "+does+" sends more than 4KiB at once, and "+version(by.HTTP)+" is without bodies; "+by.without(state.Do.Service()),
					"services", state.Do.Service(), "http")
			}
			return wrong(why, "behaviours", does, "states", name, "sends")
		}
	}
	return nil
}

// Servers are those of the services that somebody's steps go to, and of names.
func (s Scenario) Servers() map[string]Server {
	all := map[string]Server{}
	for _, name := range s.Uses() {
		all[name] = s.Services[name].Server
	}
	if names, has := s.Services[Names]; has { // which every step may use
		all[Names] = names.Server
	}
	return all
}

// Programs lists the programs that those services are by.
func (s Scenario) Programs() []string {
	all := map[string]bool{}
	for _, one := range s.Servers() {
		if one.By != "" {
			all[one.By] = true
		}
	}
	return Sorted(all)
}
