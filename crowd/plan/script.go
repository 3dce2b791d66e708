package plan

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// Author has the scripts of behaviours draw sessions.
type Author interface {
	// Ask asks the script of a behaviour a question, a line of JSON, and returns the line that it answers.
	Ask(ctx context.Context, behaviour string, of scenario.Behaviour, question []byte) ([]byte, error)
}

// Question is what a script is asked for each session. Times are in nanoseconds.
type Question struct {
	Behaviour string `json:"behaviour"`
	User      int    `json:"user"` // from 1
	Persona   string `json:"persona"`
	// Session counts the user's sessions of the behaviour, from 1.
	Session int `json:"session"`
	// Seed is that of this session alone, below 2^53: every language reads it as it is.
	Seed uint64 `json:"seed"`
	// Start is the time since the crowd began, Day that of the week, such as Mon 08:00:00.
	Start time.Duration `json:"start"`
	Day   string        `json:"day"`
}

// seed draws that of a script's session: 53 bits, on processors of 32 bits, too.
func (w *walk) seed() uint64 {
	var b [8]byte
	w.stream.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:]) >> 11
}

// Answer is the session that a script has drawn.
type Answer struct {
	// Seed is that of the question: so no answer is taken for that to another one.
	Seed     uint64         `json:"seed"`
	Patience time.Duration  `json:"patience"`
	Steps    []AnsweredStep `json:"steps"`
}

// AnsweredStep is a step of a script. Whom it goes to is drawn by heddle. It opens one connection, unless the script says how many:
// 0 uses one that is kept.
type AnsweredStep struct {
	Pause       time.Duration   `json:"pause"`
	Do          scenario.Action `json:"do"`
	Mistake     string          `json:"mistake"`
	Connections *int            `json:"connections"`
	Keep        bool            `json:"keep"`
	Sends       int64           `json:"sends"`
	Receives    []int64         `json:"receives"`
	Every       time.Duration   `json:"every"`
	Lasts       time.Duration   `json:"lasts"`
	Expect      time.Duration   `json:"expect"`
}

// ask has a script draw the steps. What would begin after the crowd's end is left out, as it is of states.
func (w *walk) ask(ctx context.Context, author Author) error {
	name, b := w.session.Behaviour, w.plan.scenario.Behaviours[w.session.Behaviour]
	q := Question{Behaviour: name, User: w.session.User, Persona: w.session.Persona, Session: w.session.Number,
		Seed: w.seed(), Start: w.session.Start, Day: w.plan.scenario.Clock.At(w.session.Start).String()}
	question, err := json.Marshal(q)
	if err != nil {
		return err
	}
	line, err := author.Ask(ctx, name, b, question)
	if err != nil {
		return err
	}
	answer, why := readAnswer(line)
	if why == "" && answer.Seed != q.Seed {
		why = "it does not repeat the question's seed"
	}
	if why == "" {
		why = answer.check(b, w.plan.scenario.Services)
	}
	if why != "" {
		return heddle.Errorf(heddle.BadArgument, "have a session drawn by the script of behaviour", name,
			fmt.Sprintf("asked %s, it answers %s: %s", question, heddle.Clip(string(line)), why), "correct the script; docs/guides/crowd.md says what it may answer")
	}
	w.session.Patience = answer.Patience
	for _, a := range answer.Steps {
		w.wait(a.Pause)
		if !w.add(a.step(w.target(a.Do.Service()))) {
			break
		}
	}
	return nil
}

// maxWhy is how long it is said what is wrong with an answer, in bytes.
const maxWhy = 200

// readAnswer reads a line, or says what is wrong with it.
func readAnswer(line []byte) (a Answer, why string) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		if why = err.Error(); len(why) > maxWhy { // it has words of the answer
			why = strings.ToValidUTF8(why[:maxWhy], "") + "…"
		}
		return a, why
	}
	if _, err := d.Token(); err != io.EOF {
		return a, "it is more than one answer"
	}
	return a, ""
}

// step is the step as it is planned, to a site or another user.
func (a AnsweredStep) step(to int) Step {
	s := Step{Do: a.Do, To: to, Mistake: a.Mistake, Connections: a.opens(), Keep: a.Keep, Sends: a.Sends, Receives: slices.Clone(a.Receives),
		Every: a.Every, Lasts: a.Lasts, Expect: a.Expect}
	switch {
	case a.Mistake == scenario.MistakeName: // a name that is not there is not connected to
		s.Connections, s.Sends, s.Receives = 0, 0, nil
	case a.Mistake == scenario.MistakePassword:
		s.Connections, s.Receives = max(1, s.Connections), []int64{scenario.Refusal}
	case len(s.Receives) == 0:
		s.Receives = []int64{0}
	}
	return s
}

// opens is how many connections the step opens.
func (a AnsweredStep) opens() int {
	if a.Connections == nil {
		return 1
	}
	return *a.Connections
}

// mark tells two drawings of a session apart; it is never 0. A script that does not draw the same again is found by it.
func (s Session) mark() uint32 {
	sum := fnv.New32a()
	json.NewEncoder(sum).Encode(s) // numbers and words
	return max(1, sum.Sum32())
}
