package plan_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

func example(t *testing.T, name string) scenario.Scenario {
	t.Helper()
	text, err := scenario.Example(name)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

func parse(t *testing.T, text string) scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func diary(t *testing.T, p *plan.Plan, user int) plan.Diary {
	t.Helper()
	d, err := p.User(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// drawn returns the text of a plan, and its summary.
func drawn(t *testing.T, s scenario.Scenario) (string, plan.Summary) {
	t.Helper()
	var b bytes.Buffer
	sum, err := plan.New(s, nil).Write(t.Context(), &b)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), sum
}

// TestSame: each machine draws what this one drew when the test was written. It holds for other processors, too:
// GOARCH=386 GO386=softfloat go test ./crowd/plan
func TestSame(t *testing.T) {
	for name, want := range map[string]string{
		"small":         "182eb73927e6c9035d0d06a3cb743be6c36432224b51461b98e828cfa5ce4061",
		"office":        "57b1cc83e0527d861ba94185fa86931606bbd3e97f639de12f60e4229cb902bf",
		"lxc2019-crowd": "ba52cbd2bbe132fb0f49d34fd5875a7e00288d3837d39e2a3cc497b3102f4655",
		"returning":     "7f97836b2eeb1bd39cc755ade2ad5866907fd741d91f1d9fae54e53e1dc63593",
		"evening":       "51c7764590d5bd068508a91890e31501754d56933f78508e549d2313b9d1244a",
	} {
		if _, sum := drawn(t, example(t, name)); sum.SHA256 != want {
			t.Errorf("%s has the sum %s, not %s", name, sum.SHA256, want)
		}
	}
}

func TestSumIsOfText(t *testing.T) {
	text, sum := drawn(t, example(t, "small"))
	if of := sha256.Sum256([]byte(text)); hex.EncodeToString(of[:]) != sum.SHA256 {
		t.Errorf("the sum %s is not that of the text", sum.SHA256)
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if int64(len(lines)) != sum.Total.Sessions || len(lines) == 0 {
		t.Errorf("%d lines for %d sessions", len(lines), sum.Total.Sessions)
	}
	var s plan.Session
	d := json.NewDecoder(strings.NewReader(lines[0]))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	if want := diary(t, plan.New(example(t, "small"), nil), s.User).Sessions[0]; !reflect.DeepEqual(s, want) {
		t.Errorf("the first line is %+v, and not %+v", s, want)
	}
}

// TestOneMoreUser: the plan of a crowd is the beginning of that of a larger one.
func TestOneMoreUser(t *testing.T) {
	small := example(t, "small")
	text, _ := drawn(t, small)
	for _, users := range []int{21, 33} {
		more, err := small.Resize(users)
		if err != nil {
			t.Fatal(err)
		}
		if larger, _ := drawn(t, more); !strings.HasPrefix(larger, text) || larger == text {
			t.Errorf("with %d users, the first 20 do something else, or the others nothing", users)
		}
	}
}

// TestOneMoreBehaviour: what a user did before is not moved by what is new, nor by more time.
func TestOneMoreBehaviour(t *testing.T) {
	text, err := scenario.Example("small")
	if err != nil {
		t.Fatal(err)
	}
	before := plan.New(parse(t, string(text)), nil)
	for old, changed := range map[string]string{
		"print: 1/h":  "print: 1/h, transfer: 4/h, video: 2/h",
		"length: 10m": "length: 30m",
	} {
		after := plan.New(parse(t, strings.Replace(string(text), old, changed, 1)), nil)
		grown := 0
		for user := range 20 {
			var kept []plan.Session
			d := diary(t, after, user+1)
			for _, s := range d.Sessions {
				if s.Behaviour != "transfer" && s.Behaviour != "video" && s.Start < 10*time.Minute {
					s.Steps = until(s, 10*time.Minute)
					kept = append(kept, s)
				}
			}
			grown += len(d.Sessions) - len(kept)
			if want := diary(t, before, user+1).Sessions; len(want)+len(kept) > 0 && !reflect.DeepEqual(kept, want) {
				t.Errorf("with %q, user %d does\n%v\nand not\n%v", changed, user+1, kept, want)
			}
		}
		if grown == 0 {
			t.Errorf("with %q nothing has come", changed)
		}
	}
}

// until are the steps of a session that begin before a time.
func until(s plan.Session, end time.Duration) (all []plan.Step) {
	begins, _ := s.Begins()
	for i, at := range begins {
		if s.Start+at < end {
			all = append(all, s.Steps[i])
		}
	}
	return all
}

// TestSeed: another seed is another plan.
func TestSeed(t *testing.T) {
	s := example(t, "small")
	text, _ := drawn(t, s)
	s.Seed++
	if other, _ := drawn(t, s); other == text {
		t.Error("two seeds have one plan")
	}
}

// TestShares: a crowd of any size has each persona's share of users, but for four.
func TestShares(t *testing.T) {
	p := plan.New(parse(t, `
crowd: idle
users: 2000
clock: {start: "Mon 10:00", length: 1m}
personas: {clerk: {share: 65%}, remote: {share: 25%}, engineer: {share: 8%}, machine: {share: 2%}}
`), nil)
	shares, count := map[string]float64{"clerk": 0.65, "remote": 0.25, "engineer": 0.08, "machine": 0.02}, map[string]int{}
	for user := 1; user <= 2000; user++ {
		count[diary(t, p, user).Persona]++
		for name, share := range shares {
			if want := share * float64(user); math.Abs(float64(count[name])-want) > 4 {
				t.Fatalf("of %d users, %d are of persona %s, and not %.1f", user, count[name], name, want)
			}
		}
	}
}

func TestStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := plan.New(example(t, "small"), nil).Write(ctx, &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := plan.New(example(t, "small"), nil).User(ctx, 3); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := plan.New(example(t, "small"), nil).Write(t.Context(), full{}); !errors.Is(err, errFull) {
		t.Error(err)
	}
}

var errFull = errors.New("no room")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
