package scenario

import (
	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/yamlfile"
)

// Names is the service that answers questions for names. Without a program it is the network's own. It has no steps: every step may
// begin with a question.
const Names = "dns"

// Service is what behaviours' steps go to.
type Service struct {
	// Sites is how many different ones there are, 1 if it is not given. They are numbered by popularity,
	// from 1: a visit goes to number r with a chance in proportion to 1/r^Zipf.
	Sites Count
	Zipf  Exponent
	// Between is given for what users do with each other: they keep to groups of so many, in the order of
	// their numbers. Who belongs together does not depend on how many users there are.
	Between Count
	Server

	given map[string]bool // which keys are in the file
}

// UnmarshalYAML reads a service, and keeps in mind what is given.
func (s *Service) UnmarshalYAML(n *yaml.Node) error {
	all, err := entries(n, "give "+serviceWords)
	if err != nil {
		return err
	}
	s.given = map[string]bool{}
	for _, e := range all {
		switch key := e.key.Value; key {
		case "sites":
			err = s.Sites.UnmarshalYAML(e.value)
		case "zipf":
			err = s.Zipf.UnmarshalYAML(e.value)
		case "between":
			err = s.Between.UnmarshalYAML(e.value)
		case "by", "http", "tls":
			err = s.Server.read(key, e.value)
		default:
			err = yamlfile.Refuse(e.key, "%q is no key of a service; give %s", heddle.Clip(key), serviceWords)
		}
		if err != nil {
			return err
		}
		s.given[e.key.Value] = true
	}
	return nil
}

const serviceWords = "sites, zipf, between, by, tls or http"

// over returns the service with what is not given from another: sites, unless there are groups, and groups, unless
// there are sites.
func (s Service) over(other Service) Service {
	sites := s.given["sites"] || s.given["zipf"]
	if s.Between == 0 && !s.given["sites"] {
		s.Sites = other.Sites
	}
	if s.Between == 0 && !s.given["zipf"] {
		s.Zipf = other.Zipf
	}
	if !sites && !s.given["between"] {
		s.Between = other.Between
	}
	return s
}

// check returns what is wrong with the service of a name.
func (s Service) check(name string) *problem {
	if name == Names {
		return s.checkNames()
	}
	switch {
	case s.given["sites"] && s.Sites == 0:
		return wrong("it is 0; give 1 or more", "services", name, "sites")
	case s.Between == 1:
		return wrong("groups of users have two members at least; give 2 or more", "services", name, "between")
	case s.Between > 0 && s.Sites > 0:
		return wrong("a service has either sites or groups of users; take out one of them", "services", name, "between")
	case s.Between > 0 && s.Zipf > 0:
		return wrong("groups of users have no popularity; take out zipf or between", "services", name, "zipf")
	case s.Between > 0 && s.By != "":
		return wrong("a program has sites, no groups of users; give sites, or take out by", "services", name, "by")
	}
	return s.Server.check(name)
}

// checkNames returns what is wrong with the service that answers questions for names.
func (s Service) checkNames() *problem {
	for _, key := range []string{"between", "sites", "zipf"} {
		if s.given[key] {
			return wrong("names have no "+map[string]string{"between": "groups of users", "sites": "sites", "zipf": "popularity"}[key]+"; take it out", "services", Names, key)
		}
	}
	if s.By == "" {
		return wrong("the network answers questions for names itself; add by: unbound, or take dns out", "services", Names)
	}
	return s.Server.check(Names)
}
