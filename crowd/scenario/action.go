package scenario

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/yamlfile"
)

// Action is what a step does: the name of a service, a dot, and a verb.
type Action string

// SendsMail is the action that sends a mail. With a program it is over a connection of its own: mail is read by another protocol.
const SendsMail Action = "mail.send"

// verbs are what can be done with each service.
var verbs = map[string][]string{
	"chat":   {"connect", "message"},
	"domain": {"refresh", "ticket"},
	"files":  {"get", "put"},
	"mail":   {"check", "fetch", "login", "send"},
	"print":  {"job"},
	"search": {"query"},
	"shell":  {"key", "login"},
	"video":  {"play"},
	"voice":  {"call"},
	"web":    {"page"},
}

// Service is the service that the action goes to.
func (a Action) Service() string {
	service, _, _ := strings.Cut(string(a), ".")
	return service
}

// actions lists all there are.
func actions() (all []string) {
	for service, does := range verbs {
		for _, verb := range does {
			all = append(all, service+"."+verb)
		}
	}
	slices.Sort(all)
	return all
}

// UnmarshalYAML reads the name of an action.
func (a *Action) UnmarshalYAML(n *yaml.Node) error {
	if !slices.Contains(actions(), n.Value) {
		return yamlfile.Refuse(n, "%q is no action; choose from %s", heddle.Clip(n.Value), heddle.List(actions()))
	}
	*a = Action(n.Value)
	return nil
}
