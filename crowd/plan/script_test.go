package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

const scripted = `
crowd: scripted
seed: 3
users: 30
clock: {start: "Mon 10:00", length: 1m}
services: {web: {by: nginx, tls: true, http: 2}, mail: {by: dovecot}}
personas:
  one: {share: 100%, does: {play: 4/m, print: 1/m}}
events:
  - {at: 10s, for: 10s, gather: play, share: 50%}
behaviours:
  play:
    actions: [web.page, chat.connect, chat.message, mail.fetch]
    steps: 4
    script: |
      #!/bin/sh
`

// answers is an author that is a function.
type answers func(q plan.Question) (string, error)

func (a answers) Ask(_ context.Context, behaviour string, of scenario.Behaviour, question []byte) ([]byte, error) {
	var q plan.Question
	if err := json.Unmarshal(question, &q); err != nil || q.Behaviour != behaviour || of.Script != "#!/bin/sh\n" {
		return nil, fmt.Errorf("%s is asked %s, %v", behaviour, question, err)
	}
	line, err := a(q)
	return []byte(line), err
}

// repeat has an answer repeat a question's seed.
func repeat(answer string, q plan.Question) string {
	return strings.Replace(answer, "{", fmt.Sprintf(`{"seed": %d, `, q.Seed), 1)
}

// someSteps is a session of some steps.
func someSteps(by uint64) string {
	return fmt.Sprintf(`{"patience": 5000000000, "steps": [{"do": "web.page", "pause": %d, "sends": 300, "receives": [%d, 5], "expect": 1000000},
		{"do": "chat.connect", "keep": true, "expect": 1000000}, {"do": "chat.message", "connections": 0, "pause": 30000000000, "every": 100000000, "lasts": 9000000000}]}`,
		by%1e9, by%1e6)
}

// bySeed draws by the question.
func bySeed(q plan.Question) (string, error) { return repeat(someSteps(q.Seed), q), nil }

// TestScript: sessions are those that the script draws, each by its own seed; whom they go to, and what is after the end, is
// heddle's. They are the same when they are drawn again, and change nothing else of the plan.
func TestScript(t *testing.T) {
	s := parse(t, scripted)
	p, seeds, cut := plan.New(s, answers(bySeed)), map[time.Duration]bool{}, 0
	starts, err := p.Starts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range starts {
		one := again(t, p, at)
		if one.Behaviour != "play" {
			continue
		}
		first := one.Steps[0]
		if one.Patience != 5*time.Second || first.Do != "web.page" || first.To < 1 || first.Connections != 1 || first.Receives[0] != int64(first.Pause)%1e6 {
			t.Fatalf("%+v", one)
		}
		seeds[first.Pause] = true
		if len(one.Steps) < 3 {
			cut++
		} else if last := one.Steps[2]; last.To != one.Steps[1].To || last.Connections != 0 || last.Pause != 30*time.Second || last.Requests() != 90 || len(last.Receives) != 1 {
			t.Fatalf("%+v", one)
		}
	}
	if len(seeds) < 100 || cut < 20 || cut == len(seeds) {
		t.Errorf("%d sessions differ, %d end with the crowd", len(seeds), cut)
	}
	one, err := p.Write(t.Context(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if other, err := plan.New(s, answers(bySeed)).Write(t.Context(), io.Discard); err != nil || other.SHA256 != one.SHA256 || one.Cut != 0 {
		t.Errorf("%+v, then %+v, %v", one, other, err)
	}
	s.Seed++
	if other, err := plan.New(s, answers(bySeed)).Write(t.Context(), io.Discard); err != nil || other.SHA256 == one.SHA256 {
		t.Errorf("another seed gives the same plan: %v", err)
	}
}

// TestScriptQuestion: a script is told who begins what when.
func TestScriptQuestion(t *testing.T) {
	asked := map[string]bool{}
	p := plan.New(parse(t, scripted), answers(func(q plan.Question) (string, error) {
		if q.User < 1 || q.User > 30 || q.Persona != "one" || q.Session < 1 || q.Seed >= 1<<53 || q.Start < 0 || q.Start > time.Minute ||
			q.Day != fmt.Sprintf("Mon 10:00:%02d", int(q.Start.Seconds())) {
			t.Errorf("%+v", q)
		}
		asked[fmt.Sprint(q.User, q.Session)] = true
		return fmt.Sprintf(`{"seed": %d, "steps": []}`, q.Seed), nil
	}))
	sum, err := p.Write(t.Context(), io.Discard)
	if err != nil || sum.Total.Sessions == 0 || len(asked) < 100 {
		t.Errorf("%d questions, %+v, %v", len(asked), sum, err)
	}
}

// TestScriptAgain: a script that draws a session otherwise when it is asked again is found out, before the crowd begins and while it
// plays; one that fails says why.
func TestScriptAgain(t *testing.T) {
	n, same := uint64(0), true
	drifts := answers(func(q plan.Question) (string, error) {
		if n++; same {
			return bySeed(q)
		}
		return repeat(someSteps(n), q), nil
	})
	p := plan.New(parse(t, scripted), drifts)
	starts, err := p.Starts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same = false
	const want = "is another than when it was planned; have the script draw by the question alone"
	found := 0
	for _, at := range starts {
		_, err := p.Session(t.Context(), at)
		if play := p.Behaviour(at) == "play"; play != (err != nil) || play && !strings.Contains(err.Error(), want) {
			t.Fatalf("%+v: %v", at, err)
		} else if play {
			found++
		}
	}
	if found < 100 {
		t.Errorf("%d sessions", found)
	}
	if _, err := p.Starts(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	if _, err := p.Write(t.Context(), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	broken := errors.New("broken")
	p = plan.New(parse(t, scripted), answers(func(plan.Question) (string, error) { return "", broken }))
	if _, err := p.Write(t.Context(), io.Discard); !errors.Is(err, broken) {
		t.Error(err)
	}
}

// TestScriptRefused: what a script may not answer is told, with the question.
func TestScriptRefused(t *testing.T) {
	for answer, want := range map[string]string{
		`{`: "unexpected EOF",
		`{"steps": [` + strings.Repeat(`{"do": "web.page", "expect": 1, "receives": [`+strings.Repeat("1, ", 40)+`1]}, `, 3) + `{}]}`: "step 2: with it the session has more than 80 requests, 20 for each step",
		`{"` + strings.Repeat("x", 5000) + `": 1}`: "unknown field",
		`{"seed": 5}`:                  "it does not repeat the question's seed",
		`{"steps": []} {}`:             "it is more than one answer",
		`{"step": []}`:                 `unknown field "step"`,
		`{"steps": [{"to": 3}]}`:       `unknown field "to"`,
		`{"patience": -1}`:             "patience is -1; give nanoseconds",
		`{"patience": 90000000000000}`: "patience is 90000000000000; give nanoseconds",
		`{"patience": 1.5}`:            "cannot unmarshal number 1.5",
		`{"steps": [` + strings.Repeat(`{"do": "chat.message", "expect": 1}, `, 4) + `{}]}`: "it has 5 steps, and the scenario says 4 at most",
		`{"steps": [{"do": "mail.send", "expect": 1}]}`:                                     `step 1: "mail.send" is none of its actions`,
		`{"steps": [{"do": "web.page", "expect": -1}]}`:                                     "expect is -1; give nanoseconds",
		`{"steps": [{"do": "web.page"}]}`:                                                   "give one of lasts and expect",
		`{"steps": [{"do": "web.page", "expect": 1, "lasts": 1}]}`:                          "give one of lasts and expect",
		`{"steps": [{"do": "web.page", "expect": 1, "every": 1000000}]}`:                    "is so every 1000000 ns at least, and lasts",
		`{"steps": [{"do": "web.page", "lasts": 1, "every": 999999}]}`:                      "is so every 1000000 ns at least, and lasts",
		`{"steps": [{"do": "web.page", "lasts": 1, "every": 1000000, "receives": [1, 1]}]}`: "it receives 2 answers; give up to 1001, and one with every",
		`{"steps": [{"do": "web.page", "expect": 1, "sends": 17179869185}]}`:                "it sends or receives 17179869185; give bytes, up to 16 GiB",
		`{"steps": [{"do": "web.page", "expect": 1, "receives": [-1]}]}`:                    "it sends or receives -1",
		`{"steps": [{"do": "web.page", "expect": 1, "sends": 4097}]}`:                       "over HTTP/2 a request has 4096 bytes at most",
		`{"steps": [{"do": "mail.fetch", "expect": 1, "sends": 4097}]}`:                     "by dovecot, a request has 4KiB at most",
		`{"steps": [{"do": "web.page", "expect": 1, "connections": 101}]}`:                  "it opens 101 connections; give 0 to 100",
		`{"steps": [{"do": "web.page", "expect": 1, "connections": 0, "keep": true}]}`:      "it opens no connection that it could keep",
		`{"steps": [{"do": "web.page", "expect": 1, "mistake": "way"}]}`:                    `"way" is no mistake; choose from name, password`,
		`{"steps": [{"do": "web.page", "lasts": 1, "mistake": "name"}]}`:                    "a mistake fails at once",
	} {
		p := plan.New(parse(t, scripted), answers(func(q plan.Question) (string, error) { return repeat(answer, q), nil }))
		_, err := p.Write(t.Context(), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `script of behaviour play: asked {"behaviour":"play","user":1,`) {
			t.Errorf("%s: %v; expected %s", answer, err, want)
		} else if len(err.Error()) > 2000 {
			t.Errorf("%d bytes say what is wrong", len(err.Error()))
		}
	}
}

// TestScriptMistake: a mistake has what one of a state has.
func TestScriptMistake(t *testing.T) {
	for answer, want := range map[string]plan.Step{
		`{"mistake": "name", "sends": 9}`:                         {Mistake: "name"},
		`{"mistake": "password", "sends": 9, "receives": [1, 2]}`: {Mistake: "password", Sends: 9, Receives: []int64{scenario.Refusal}, Connections: 1},
		`{"mistake": "password", "sends": 9, "connections": 3}`:   {Mistake: "password", Sends: 9, Receives: []int64{scenario.Refusal}, Connections: 3},
		`{"sends": 9, "connections": 0}`:                          {Sends: 9, Receives: []int64{0}},
	} {
		line := `{"steps": [{"do": "chat.message", "expect": 1, ` + answer[1:] + `]}`
		p := plan.New(parse(t, scripted), answers(func(q plan.Question) (string, error) { return repeat(line, q), nil }))
		starts, err := p.Starts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range starts {
			if one := again(t, p, at); one.Behaviour == "play" {
				got := one.Steps[0]
				want.Do, want.Expect, want.To = "chat.message", 1, got.To
				if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) || got.To < 1 {
					t.Errorf("%s: %+v; expected %+v", answer, got, want)
				}
				break
			}
		}
	}
}
