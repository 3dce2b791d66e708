package scenario

import (
	"cmp"
	"errors"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/yamlfile"
)

// Link is how well a user is connected: what happens to the frames of each direction, in the words of a lab's faults. A
// link is no draw: it does not change the plan.
type Link struct {
	impair.Impairment
	// Rate at which frames leave, each way; 0 is unlimited.
	Rate impair.Rate `json:"rate,omitempty"`
}

// String writes the link with the words of a scenario.
func (l Link) String() string {
	words := l.Impairment.String()
	if l == (Link{}) {
		return sound
	}
	if l.Rate == 0 {
		return words
	}
	if words != "" {
		words += ", "
	}
	return words + "rate " + l.Rate.String()
}

// Links are those of the personas that have one.
func (s Scenario) Links() map[string]Link {
	all := map[string]Link{}
	for name, p := range s.Personas {
		if p.Link != nil {
			all[name] = *p.Link
		}
	}
	return all
}

// sound is the word for a link that changes nothing: it is there to be changed.
const sound = "sound"

// Check refuses a link that no relay is.
func (l Link) Check() error { return cmp.Or(l.Impairment.Check(), l.Rate.Check()) }

const linkWords = "delay, jitter, loss, rate, duplicate, reorder or corrupt"

// UnmarshalYAML reads a link, and checks it.
func (l *Link) UnmarshalYAML(n *yaml.Node) error {
	if r := resolve(n); r.Kind == yaml.ScalarNode && r.Value == sound {
		return nil
	}
	all, err := entries(n, "give "+linkWords+", or the word "+sound)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return yamlfile.Refuse(n, "it is empty; give "+linkWords)
	}
	for _, e := range all {
		text := resolve(e.value).Value // "" of what is no value
		switch key := e.key.Value; key {
		case "delay":
			l.Delay, err = time.ParseDuration(text)
		case "jitter":
			l.Jitter, err = time.ParseDuration(text)
		case "loss":
			l.Loss, err = impair.ParseShare(text)
		case "duplicate":
			l.Duplicate, err = impair.ParseShare(text)
		case "reorder":
			l.Reorder, err = impair.ParseShare(text)
		case "corrupt":
			l.Corrupt, err = impair.ParseShare(text)
		case "rate":
			l.Rate, err = impair.ParseRate(text)
		default:
			return yamlfile.Refuse(e.key, "%q is no key of a link; give %s", heddle.Clip(key), linkWords)
		}
		var known *heddle.Error
		if errors.As(err, &known) {
			return yamlfile.Refuse(e.value, "%s: %s; %s", heddle.Clip(known.Object), known.Cause, known.Remedy)
		}
		if err != nil {
			return yamlfile.Refuse(e.value, "%q is no duration; give one such as 30ms", heddle.Clip(text))
		}
	}
	var known *heddle.Error
	if errors.As(l.Check(), &known) {
		return yamlfile.Refuse(n, "%s; %s", known.Sentence(), known.Remedy)
	}
	if l.Impairment == (impair.Impairment{}) && l.Rate.Bits() == 0 {
		return yamlfile.Refuse(n, "it changes nothing; leave link out, or give more than 0 of "+linkWords+"; 'link: sound' is one that may change")
	}
	return nil
}
