package ghosts

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// File is a timeline with its name.
type File struct {
	Name string
	Text []byte
}

// Scenario is what timelines are as a scenario.
type Scenario struct {
	Text []byte
	// LeftOut says what of the timelines is not in it.
	LeftOut []string
}

// persona, behaviour and document are what is written, in this order.
type persona struct {
	Share    string            `yaml:"share"`
	Schedule map[string]string `yaml:"schedule,omitempty,flow"`
	Does     map[string]string `yaml:"does,flow"`
}

type behaviour struct {
	Start    string           `yaml:"start"`
	Patience string           `yaml:"patience"`
	States   map[string]state `yaml:"states"`
}

type document struct {
	Crowd      string               `yaml:"crowd"`
	Users      int                  `yaml:"users"`
	Clock      map[string]string    `yaml:"clock,flow"`
	Personas   map[string]persona   `yaml:"personas"`
	Behaviours map[string]behaviour `yaml:"behaviours"`
}

// Import makes a scenario from one or more timelines: each is a persona, all with the same share. A handler is a behaviour, whose
// session is one pass through its events. Sessions come by chance while the persona is active: of a handler that loops as often as
// it passes, of others once in a time as long as the handler's hours.
func Import(files []File, users int) (made Scenario, err error) {
	d := document{Crowd: name(files[0].Name, nil), Users: users, Clock: map[string]string{"start": "Mon 10:00", "length": "10m"},
		Personas: map[string]persona{}, Behaviours: map[string]behaviour{}}
	like := builtIn{}
	for i, f := range files {
		t, err := parse(f.Text)
		if err != nil {
			return made, heddle.Wrap(heddle.BadJSON, "read timeline", f.Name, err, "give a timeline of GHOSTS, such as its client's config/timeline.json")
		}
		p := persona{Share: strconv.FormatFloat(100/float64(len(files)), 'g', 10, 64) + "%"}
		var left []string
		if p.Does, left, err = d.behaviours(f.Name, t, like); err != nil {
			return made, err
		}
		hours, kept := hoursOf(t.Handlers)
		if !kept {
			left = append(left, "that its handlers have other hours than each other; all have all of them")
		}
		if hours != "" {
			p.Schedule = map[string]string{"hours": hours}
		}
		if from, _, given := strings.Cut(hours, "-"); given && i == 0 {
			d.Clock["start"] = "Mon " + from
		}
		for _, what := range left {
			made.LeftOut = append(made.LeftOut, f.Name+": "+what)
		}
		d.Personas[name(f.Name, func(n string) bool { return d.Personas[n].Does != nil })] = p
	}
	if made.Text, err = d.text(); err != nil {
		err = heddle.Wrap(heddle.BadArgument, "make scenario", d.Crowd, err, "give fewer timelines, fewer events, or shorter delays")
	}
	return made, err
}

// behaviours adds those of a timeline, and returns how often they are done, and what of the timeline is left out.
func (d document) behaviours(file string, t timeline, like builtIn) (does map[string]string, left []string, err error) {
	does = map[string]string{}
	for _, h := range t.Handlers {
		if !h.known() {
			left = append(left, fmt.Sprintf("a handler %s, which sends nothing that heddle knows", heddle.Clip(h.Type)))
			continue
		}
		steps := makers[h.Type](h)
		if len(steps) > scenario.MaxSteps {
			return nil, nil, heddle.Errorf(heddle.BadArgument, "import timeline", file, fmt.Sprintf("a handler %s has %d steps, and %d are the most", h.Type, len(steps), scenario.MaxSteps),
				"give fewer events, or fewer commands of events")
		}
		what := name(h.Type, func(n string) bool { _, taken := d.Behaviours[n]; return taken })
		b, takes := like.chained(steps)
		d.Behaviours[what], does[what] = b, h.rate(takes)
		if h.Schedule != "" || len(h.TimeBlocks) > 0 {
			left = append(left, "the schedule of a handler "+h.Type)
		}
	}
	if len(does) == 0 {
		return nil, nil, heddle.Errorf(heddle.BadArgument, "import timeline", file, "no handler of it sends anything that heddle knows", "give one with a browser, mail, Ssh, Ftp or the like")
	}
	return does, left, nil
}

// known reports whether the handler does something that heddle knows.
func (h handler) known() bool { return makers[h.Type] != nil && len(h.Events) > 0 }

// text is the document as YAML. It is an error if it is no scenario, or a larger one than is read.
func (d document) text() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# made from timelines of GHOSTS; sizes are those of the built-in behaviours\n")
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(d)
	if err == nil {
		_, err = scenario.Parse(b.Bytes())
	}
	if err == nil && b.Len() > scenario.MaxFile {
		err = fmt.Errorf("it would have %d bytes, and a scenario has up to %d", b.Len(), scenario.MaxFile)
	}
	return b.Bytes(), err
}

// name makes a name for a scenario from that of a file or a handler. One that is taken gets a number.
func name(from string, taken func(string) bool) string {
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(from), ".json"))
	base = strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, base), "-0123456789")
	if base == "" {
		base = "timeline"
	}
	base = strings.TrimRight(base[:min(len(base), 24)], "-")
	for n, i := base, 2; ; i++ {
		if taken == nil || !taken(n) {
			return n
		}
		n = fmt.Sprintf("%s-%d", base, i)
	}
}
