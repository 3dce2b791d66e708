package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/scenario"
)

func newCrowdCheck(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Args: withArgs("FILE"),
		Short: "Check a scenario",
		Long: `check reads a scenario and prints what is in it: personas, behaviours, services. An
error names the line and the key. Nothing is changed.`,
		Example: "  heddle crowd check small.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			read, err := scenario.Read(args[0])
			if err != nil {
				return err
			}
			c := describe(read)
			return s.emit("Crowd", c, func(w io.Writer) error { return s.crowdScreen(w, c) })
		},
	}
}

// crowd is what a scenario has, as a document.
type crowd struct {
	Name       string           `json:"name"`
	Seed       uint64           `json:"seed"`
	Users      int              `json:"users"`
	Start      string           `json:"start"`
	Length     string           `json:"length"`
	Compress   int              `json:"compress"`
	Personas   []crowdPersona   `json:"personas"`
	Behaviours []crowdBehaviour `json:"behaviours"`
	Services   []crowdService   `json:"services"`
}

type crowdPersona struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
	Hours string  `json:"hours,omitempty"`
	// Does has the sessions that a user begins in an active hour.
	Does map[string]float64 `json:"sessionsPerHour"`
}

type crowdBehaviour struct {
	Name    string `json:"name"`
	BuiltIn bool   `json:"builtIn"`
	States  int    `json:"states"`
	// Steps that a session has on average.
	Steps    float64  `json:"steps"`
	Services []string `json:"services"`
}

type crowdService struct {
	Name    string  `json:"name"`
	Sites   int     `json:"sites,omitempty"`
	Zipf    float64 `json:"zipf,omitempty"`
	Between int     `json:"between,omitempty"` // users of a group, who do it with each other
}

// describe lists what a scenario has; of the services, those that are used.
func describe(s scenario.Scenario) crowd {
	c := crowd{Name: s.Name, Seed: s.Seed, Users: s.Users, Start: s.Clock.Start.String(),
		Length: scenario.Short(time.Duration(s.Clock.Length)), Compress: max(1, int(s.Clock.Day.Compress))}
	for _, name := range scenario.Sorted(s.Personas) {
		p := s.Personas[name]
		one := crowdPersona{Name: name, Share: float64(p.Share), Does: map[string]float64{}}
		if p.Schedule != nil && p.Schedule.Hours != nil {
			one.Hours = p.Schedule.Hours.String()
		}
		for does, rate := range p.Does {
			one.Does[does] = float64(rate)
		}
		c.Personas = append(c.Personas, one)
	}
	used := map[string]bool{}
	for _, name := range scenario.Sorted(s.Behaviours) {
		b := s.Behaviours[name]
		mine := map[string]bool{}
		for _, state := range b.States {
			if state.Do != "" {
				mine[state.Do.Service()], used[state.Do.Service()] = true, true
			}
		}
		c.Behaviours = append(c.Behaviours, crowdBehaviour{name, b.BuiltIn, len(b.States), b.MeanSteps(),
			scenario.Sorted(mine)})
	}
	for _, name := range scenario.Sorted(used) {
		v := s.Services[name]
		c.Services = append(c.Services, crowdService{name, int(v.Sites), float64(v.Zipf), int(v.Between)})
	}
	return c
}

// crowdScreen shows a scenario.
func (s *session) crowdScreen(w io.Writer, c crowd) error {
	clock := c.Start + ", " + c.Length
	if c.Compress > 1 {
		clock += fmt.Sprintf(", the day passes %d times as fast", c.Compress)
	}
	if err := fieldTable(w, s.width(), [2]string{"crowd", c.Name}, [2]string{"users", strconv.Itoa(c.Users)},
		[2]string{"seed", strconv.FormatUint(c.Seed, 10)}, [2]string{"clock", clock}); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := writeColumns(w, s.width(), []tableColumn[crowdPersona]{
		{"persona", func(p crowdPersona) string { return p.Name }},
		{"share", func(p crowdPersona) string { return fmt.Sprintf("%.3g%%", p.Share*100) }},
		{"hours", func(p crowdPersona) string { return p.Hours }},
		{"does in an hour", func(p crowdPersona) string {
			var all []string
			for _, name := range scenario.Sorted(p.Does) {
				all = append(all, fmt.Sprintf("%s %.3g", name, p.Does[name]))
			}
			return heddle.List(all)
		}}}, c.Personas); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := writeColumns(w, s.width(), []tableColumn[crowdBehaviour]{
		{"behaviour", func(b crowdBehaviour) string { return b.Name }},
		{"from", func(b crowdBehaviour) string { return map[bool]string{true: "heddle", false: "the file"}[b.BuiltIn] }},
		{"states", func(b crowdBehaviour) string { return strconv.Itoa(b.States) }},
		{"steps", func(b crowdBehaviour) string { return fmt.Sprintf("%.3g", b.Steps) }},
		{"services", func(b crowdBehaviour) string { return strings.Join(b.Services, ", ") }}}, c.Behaviours); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeColumns(w, s.width(), []tableColumn[crowdService]{
		{"service", func(v crowdService) string { return v.Name }},
		{"is", func(v crowdService) string {
			if v.Between > 0 {
				return fmt.Sprintf("between users, in groups of %d", v.Between)
			}
			is := strconv.Itoa(max(1, v.Sites)) + " sites"
			if v.Sites <= 1 {
				return "one site"
			}
			if v.Zipf > 0 {
				is += fmt.Sprintf(", Zipf %g", v.Zipf)
			}
			return is
		}}}, c.Services)
}
