package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/scenario"
)

func newCrowdCheck(s *session) *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Args: withArgs("FILE"),
		Short: "Check a scenario",
		Long: `check reads a scenario and prints what is in it: personas, their links, events,
behaviours, services. An error names the line and the key. A program that a service is by,
and that is not installed here, is an error too (HDL-7002). Nothing is changed.`,
		Example: "  heddle crowd check small.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			read, err := scenario.Read(args[0])
			if err != nil {
				return err
			}
			c := crowdOf(read)
			err = s.emit("Crowd", c, func(w io.Writer) error { return s.crowdScreen(w, c) })
			_, missing := servicesOf(read)
			return errors.Join(err, missing)
		},
	}
}

// crowd is what a scenario has, as a document.
type crowd struct {
	Name       string           `json:"name"`
	Seed       uint64           `json:"seed"`
	Users      int              `json:"users"`
	Start      string           `json:"start"`
	Length     time.Duration    `json:"length"` // in nanoseconds
	Compress   int              `json:"compress"`
	Personas   []crowdPersona   `json:"personas"`
	Behaviours []crowdBehaviour `json:"behaviours"`
	Services   []crowdService   `json:"services"`
	Events     []scenario.Event `json:"events,omitempty"`
}

type crowdPersona struct {
	Name     string         `json:"name"`
	Share    float64        `json:"share"`
	Schedule *crowdSchedule `json:"schedule,omitempty"` // nil: always active
	// Does has the sessions that a user begins in an active hour.
	Does map[string]float64 `json:"sessionsPerHour"`
	// Link is of each direction; nil: the network's own.
	Link *scenario.Link `json:"link,omitempty"`
}

// crowdSchedule is when a persona is active, as a scenario writes it.
type crowdSchedule struct {
	Days  string `json:"days,omitempty"`
	Hours string `json:"hours,omitempty"`
	Lunch string `json:"lunch,omitempty"`
	Curve string `json:"curve,omitempty"`
}

type crowdBehaviour struct {
	Name    string `json:"name"`
	BuiltIn bool   `json:"builtIn"`
	// Script: a script draws its sessions, of so many steps at most. It has no states.
	Script bool `json:"script,omitempty"`
	Most   int  `json:"most,omitempty"`
	States int  `json:"states"`
	// Steps that a session has on average; 0 of a script, which is not asked.
	Steps    float64  `json:"steps"`
	Services []string `json:"services"`
	// Cache is the size of each user's browser cache, in bytes; 0 is none.
	Cache int64 `json:"cache,omitempty"`
}

type crowdService struct {
	Name    string  `json:"name"`
	Sites   int     `json:"sites,omitempty"`
	Zipf    float64 `json:"zipf,omitempty"`
	Between int     `json:"between,omitempty"` // users of a group, who do it with each other
	By      string  `json:"by,omitempty"`      // the program that it is by; "" is built in
	TLS     bool    `json:"tls,omitempty"`
	HTTP    int     `json:"http,omitempty"` // 2 if people speak HTTP/2
}

// crowdOf lists what a scenario has; of the services, those that are used.
func crowdOf(s scenario.Scenario) crowd {
	c := crowd{Name: s.Name, Seed: s.Seed, Users: s.Users, Start: s.Clock.Start.String(),
		Length: time.Duration(s.Clock.Length), Compress: int(s.Clock.Day.Compress), Events: s.Events}
	for _, name := range sortedKeys(s.Personas) {
		p := s.Personas[name]
		one := crowdPersona{Name: name, Share: float64(p.Share), Does: map[string]float64{}, Link: p.Link}
		if p.Schedule != nil {
			one.Schedule = scheduleOf(*p.Schedule)
		}
		for does, rate := range p.Does {
			one.Does[does] = float64(rate)
		}
		c.Personas = append(c.Personas, one)
	}
	for _, name := range sortedKeys(s.Behaviours) {
		c.Behaviours = append(c.Behaviours, behaviourOf(name, s.Behaviours[name]))
	}
	for _, name := range sortedKeys(s.Servers()) {
		v := s.Services[name]
		c.Services = append(c.Services, crowdService{name, int(v.Sites), float64(v.Zipf), int(v.Between), v.By, v.TLS, v.HTTP})
	}
	return c
}

func behaviourOf(name string, b scenario.Behaviour) crowdBehaviour {
	of := crowdBehaviour{Name: name, BuiltIn: b.BuiltIn, Services: b.Services()}
	if b.Cache != nil {
		of.Cache = b.Cache.Size
	}
	if of.Script = b.Script != ""; of.Script {
		of.Most = int(b.Steps)
	} else {
		of.States, of.Steps = len(b.States), b.MeanSteps()
	}
	return of
}

func (b crowdBehaviour) states() string {
	if b.Script {
		return "a script"
	}
	return strconv.Itoa(b.States)
}

func (b crowdBehaviour) steps() string {
	if b.Script {
		return fmt.Sprintf("up to %d", b.Most)
	}
	return shortNumber(b.Steps)
}

// shortNumber writes a number to three digits, or all that are before the point.
func shortNumber(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64) // it is a number
	return strconv.FormatFloat(short, 'f', -1, 64)
}

// crowdScreen shows a scenario.
func (s *session) crowdScreen(w io.Writer, c crowd) error {
	clock := c.Start + ", " + scenario.Short(c.Length)
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
		{"share", func(p crowdPersona) string { return shortNumber(p.Share*100) + "%" }},
		{"does in an hour", func(p crowdPersona) string {
			var all []string
			for _, name := range sortedKeys(p.Does) {
				all = append(all, name+" "+shortNumber(p.Does[name]))
			}
			return heddle.List(all)
		}}}, c.Personas); err != nil {
		return err
	}
	fmt.Fprintln(w)
	always := func(p crowdPersona) bool { return p.Schedule == nil }
	if some := slices.DeleteFunc(slices.Clone(c.Personas), always); len(some) > 0 {
		if err := writeColumns(w, s.width(), []tableColumn[crowdPersona]{
			{"schedule", func(p crowdPersona) string { return p.Name }},
			{"days", func(p crowdPersona) string { return p.Schedule.Days }},
			{"hours", func(p crowdPersona) string { return p.Schedule.Hours }},
			{"lunch", func(p crowdPersona) string { return p.Schedule.Lunch }},
			{"curve", func(p crowdPersona) string { return p.Schedule.Curve }}}, some); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	noLink := func(p crowdPersona) bool { return p.Link == nil }
	if some := slices.DeleteFunc(slices.Clone(c.Personas), noLink); len(some) > 0 {
		if err := writeColumns(w, s.width(), []tableColumn[crowdPersona]{
			{"link", func(p crowdPersona) string { return p.Name }},
			{"each way", func(p crowdPersona) string { return p.Link.String() }}}, some); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	if err := s.eventTable(w, c.Events); err != nil {
		return err
	}
	behaviours := []tableColumn[crowdBehaviour]{
		{"behaviour", func(b crowdBehaviour) string { return b.Name }},
		{"from", func(b crowdBehaviour) string { return map[bool]string{true: "heddle", false: "the file"}[b.BuiltIn] }},
		{"states", func(b crowdBehaviour) string { return b.states() }},
		{"steps", func(b crowdBehaviour) string { return b.steps() }},
		{"services", func(b crowdBehaviour) string { return strings.Join(b.Services, ", ") }}}
	if slices.ContainsFunc(c.Behaviours, func(b crowdBehaviour) bool { return b.Cache > 0 }) {
		behaviours = append(behaviours, tableColumn[crowdBehaviour]{"cache", func(b crowdBehaviour) string {
			if b.Cache == 0 {
				return "-"
			}
			return plan.FormatBytes(b.Cache)
		}})
	}
	if err := writeColumns(w, s.width(), behaviours, c.Behaviours); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeColumns(w, s.width(), []tableColumn[crowdService]{
		{"service", func(v crowdService) string { return v.Name }},
		{"is", func(v crowdService) string {
			if v.Between > 0 {
				return fmt.Sprintf("between users, in groups of %d", v.Between)
			}
			if v.Sites <= 1 {
				return "one site"
			}
			is := strconv.Itoa(v.Sites) + " sites"
			if v.Zipf > 0 {
				is += fmt.Sprintf(", Zipf %g", v.Zipf)
			}
			return is
		}},
		{"by", func(v crowdService) string { return report.Service{By: v.By, TLS: v.TLS, HTTP: v.HTTP}.String() }}}, c.Services)
}
