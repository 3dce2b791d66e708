package ghosts

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

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

// Import makes a scenario of timelines: each is a persona, all with the same share. A handler is a behaviour, whose session is one
// pass through its events. Sessions come by chance: as often as passes of a handler that loops, others once in its hours.
func Import(files []File, users int) (made Scenario, err error) {
	d := document{Crowd: name(files[0].Name, nil), Users: users, Personas: map[string]persona{}, Behaviours: map[string]behaviour{}}
	starts, like := "10:00", builtIn{}
	for i, f := range files {
		t, err := parse(f.Text)
		if err != nil {
			return made, heddle.Wrap(heddle.BadJSON, "read timeline", f.Name, err, "give a timeline of GHOSTS, such as its client's config/timeline.json")
		}
		who := name(f.Name, func(n string) bool { return d.Personas[n].Does != nil })
		p := persona{Share: strconv.FormatFloat(100/float64(len(files)), 'g', 10, 64) + "%", Does: map[string]string{}}
		for _, h := range t.Handlers {
			steps := makers[h.Type]
			if steps == nil || len(h.Events) == 0 {
				made.LeftOut = append(made.LeftOut, fmt.Sprintf("%s: a handler %s, which sends nothing that heddle knows", f.Name, heddle.Clip(h.Type)))
				continue
			}
			what := name(h.Type, func(n string) bool { _, taken := d.Behaviours[n]; return taken })
			does := steps(h)
			if len(does) > mostEvents {
				return made, heddle.Errorf(heddle.BadArgument, "import timeline", f.Name, fmt.Sprintf("a handler %s has %d steps, and %d are the most", heddle.Clip(h.Type), len(does), mostEvents),
					"give fewer events, or fewer commands of events")
			}
			b, takes := like.chained(does)
			d.Behaviours[what], p.Does[what] = b, h.rate(takes)
			if h.Schedule != "" || len(h.TimeBlocks) > 0 {
				made.LeftOut = append(made.LeftOut, fmt.Sprintf("%s: the schedule of a handler %s", f.Name, h.Type))
			}
		}
		if len(p.Does) == 0 {
			return made, heddle.Errorf(heddle.BadArgument, "import timeline", f.Name, "no handler of it sends anything that heddle knows", "give one with a browser, mail, Ssh, Ftp or the like")
		}
		hours, kept := hoursOf(t.Handlers)
		if hours != "" {
			p.Schedule = map[string]string{"hours": hours}
			if i == 0 {
				starts, _, _ = strings.Cut(hours, "-")
			}
		}
		if !kept {
			made.LeftOut = append(made.LeftOut, f.Name+": that its handlers have other hours than each other; all have all of them")
		}
		d.Personas[who] = p
	}
	d.Clock = map[string]string{"start": "Mon " + starts, "length": "10m"}
	var b bytes.Buffer
	b.WriteString("# made of timelines of GHOSTS; sizes are those of the built-in behaviours\n")
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(d); err != nil {
		return made, err
	}
	made.Text = b.Bytes()
	if _, err = scenario.Parse(made.Text); err == nil && len(made.Text) > scenario.MaxFile {
		err = fmt.Errorf("it would have %d bytes, and a scenario has up to %d", len(made.Text), scenario.MaxFile)
	}
	if err != nil {
		err = heddle.Wrap(heddle.BadArgument, "make scenario", d.Crowd, err, "give fewer timelines, fewer events, or shorter delays")
	}
	return made, err
}

// name makes a name of a file's or a handler's that is not taken.
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

// expected is how long a step takes beside its pauses, roughly.
const expected = time.Second

// chained makes a behaviour whose steps follow each other, and says how long it takes on average.
func (like builtIn) chained(steps []step) (b behaviour, takes time.Duration) {
	b = behaviour{Patience: "1m", States: map[string]state{}} // no source: a guess
	names := make([]string, len(steps), len(steps)+1)
	for i, s := range steps {
		names[i] = fmt.Sprintf("%s-%d", s.name, i+1)
	}
	names = append(names, "end")
	b.Start = names[0]
	for i, s := range steps {
		is := like.of(s)
		if s.after.max > 0 {
			is["think"] = s.after.yaml()
		}
		on := 1 / (1 + s.again) // so it is repeated again times on average
		is["next"] = map[string]float64{names[i+1]: on}
		if s.again > 0 {
			is["next"] = map[string]float64{names[i+1]: on, names[i]: 1 - on}
		}
		b.States[names[i]] = is
		takes += time.Duration((1 + s.again) * float64(s.after.mean()+expected))
	}
	return b, takes
}

// yaml is the delay in the words of a scenario.
func (d delay) yaml() any {
	if d.min == d.max {
		return seconds(d.min)
	}
	return map[string]any{"uniform": []string{seconds(d.min), seconds(d.max)}}
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s" }

func milliseconds(v float64) time.Duration { return time.Duration(v) * time.Millisecond }

// rate is how often sessions of a handler come, each of which takes so long.
func (h handler) rate(takes time.Duration) string {
	if !h.Loop {
		takes = time.Duration((h.Off.hour-h.On.hour)*60+h.Off.minute-h.On.minute) * time.Minute
		if takes <= 0 {
			takes += 24 * time.Hour
		}
	}
	return strconv.FormatFloat(min(time.Hour.Seconds()/takes.Seconds(), 3600), 'g', 6, 64) + "/h"
}

// hoursOf are the hours in which any of the handlers does something, "" is around the clock, and whether all have the same.
func hoursOf(all []handler) (hours string, same bool) {
	var words []string
	for _, h := range all {
		if makers[h.Type] == nil || len(h.Events) == 0 {
			continue
		}
		w := h.On.String() + "-" + h.Off.String()
		if h.On == h.Off {
			w = ""
		}
		words = append(words, w)
	}
	slices.Sort(words)
	words = slices.Compact(words)
	if len(words) == 1 {
		return words[0], true
	}
	first, last := "24:00", "00:00"
	for _, w := range words {
		on, off, _ := strings.Cut(w, "-")
		if w == "" || off <= on { // around the clock, or past midnight
			return "", false
		}
		first, last = min(first, on), max(last, off)
	}
	return first + "-" + last, false
}
