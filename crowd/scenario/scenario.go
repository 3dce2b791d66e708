// Package scenario is people as data: who they are, when they are active, what they do. It reads scenarios,
// which are YAML, and checks them; package plan draws from them what happens.
package scenario

import (
	"time"
)

// The bounds of a scenario, so that none eats the machine that plans it.
const (
	MaxUsers  = 1_000_000
	MaxLength = 7 * 24 * time.Hour
	// MaxSteps is how many steps a session has at most; it ends with the last of them.
	MaxSteps = 1000
	// MaxTime bounds each time of a step, MaxSize each request and answer, in bytes, MaxMore how many requests follow the first one,
	// and MaxConnections how many connections it opens.
	MaxTime        = 24 * time.Hour
	MaxSize        = 16 << 30
	MaxMore        = 1000
	MaxConnections = 100
	// RequestsAStep is how many requests the steps of a script's session make at most, on average over the steps that it may have. No source: a guess.
	RequestsAStep = 20
	// MinEvery is the shortest time between two requests by the clock.
	MinEvery = time.Millisecond
	// MaxFile is the size of a scenario's file in bytes.
	MaxFile = 64 << 10
	// maxNamed is how many personas, behaviours of its own, states of one behaviour a scenario has at most.
	maxNamed = 200
)

// Scenario is a crowd: its people, and the world that they live in.
type Scenario struct {
	Name string `yaml:"crowd"`
	Seed uint64 `yaml:"seed"`
	// Users is how many people there are, of all personas. They are numbered from 1.
	Users      int                  `yaml:"users"`
	Clock      Clock                `yaml:"clock"`
	Services   map[string]Service   `yaml:"services"`
	Personas   map[string]Persona   `yaml:"personas"`
	Behaviours map[string]Behaviour `yaml:"behaviours"`
	// Events happen besides, and are numbered from 1.
	Events []Event `yaml:"events"`
	// Text is the scenario as it was written.
	Text []byte `yaml:"-"`
}

// Persona is a kind of people.
type Persona struct {
	// Share of the users; all shares add up to 1.
	Share    Share     `yaml:"share"`
	Schedule *Schedule `yaml:"schedule"` // nil: always active
	// Does says how many sessions of each behaviour a user begins in an active hour.
	Does map[string]Rate `yaml:"does"`
	Link *Link           `yaml:"link"` // nil: the network's own
}

// Behaviour is a state machine by which a session goes, or a script that draws it.
type Behaviour struct {
	// Start is the state in which a session begins.
	Start string `yaml:"start"`
	// Patience is how long a person waits for a step, before giving up; 0 is for ever.
	Patience Time             `yaml:"patience"`
	States   map[string]State `yaml:"states"`
	// Cache is that of each user who does it; nil: there is none, and all is asked for each time.
	Cache *Cache `yaml:"cache"`
	// Script draws the sessions, instead of states: a program's text, the first line of which names its interpreter (#!).
	// Actions are all that its steps may do. Steps is how many a session has at most.
	Script  string   `yaml:"script"`
	Actions []Action `yaml:"actions"`
	Steps   Count    `yaml:"steps"`

	// BuiltIn says that the behaviour is heddle's own.
	BuiltIn bool `yaml:"-"`
}

// End is the state in which a session ends.
const End = "end"

// State is a step, a pause, or a step and the pause after it.
type State struct {
	// Do is the action of the step, such as web.page; "" for a pause.
	Do Action `yaml:"do"`
	// Sends is the size of each request, Receives that of the first answer, in bytes of payload.
	Sends    Size `yaml:"sends"`
	Receives Size `yaml:"receives"`
	// More are requests that the first answer brings along, such as for a page's pictures.
	More More `yaml:"more"`
	// Expect is how long the step takes on a sound network, so that the plan knows when what comes after it
	// will be. Lasts is for steps that take their time on any network.
	Expect Time `yaml:"expect"`
	Lasts  Time `yaml:"lasts"`
	// Every repeats request and answer by the clock, until the step has lasted.
	Every Time `yaml:"every"`
	// Connections that the step opens; 1 if it is not given. They are closed with the step, or kept until
	// the session ends.
	Connections *Count `yaml:"connections"`
	Keep        bool   `yaml:"keep"`
	// Mistakes that a person makes: the step fails, and is done again.
	Mistakes map[string]Mistake `yaml:"mistakes"`
	// Think is the pause afterwards.
	Think Time `yaml:"think"`
	// Next has the weights of the states that may follow.
	Next map[string]Share `yaml:"next"`
}

// More are requests after the first one of a step.
type More struct {
	Count    Number `yaml:"count"`
	Receives Size   `yaml:"receives"`
}

// Mistake is an attempt that must fail.
type Mistake struct {
	Chance Share `yaml:"chance"`
	Again  Time  `yaml:"again"` // how long the person needs until the next attempt
}

// The kinds of mistakes.
const (
	MistakeName     = "name"
	MistakePassword = "password"
)

// Refusal is the size of the answer to a wrong password, in bytes. No source: a guess.
const Refusal = 256

// Opens is how many connections the step opens, if it is one.
func (s State) Opens() int {
	if s.Connections == nil {
		return 1
	}
	return int(*s.Connections)
}
