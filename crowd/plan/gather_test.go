package plan_test

import (
	"context"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/plan"
)

const gathering = `
crowd: gathering
seed: 5
users: 1000
clock: {start: "Mon 10:00", length: 1h}
personas:
  one: {share: 50%, link: sound, does: {print: 2/h}}
  two: {share: 50%, does: {print: 2/h, search: 1/h}}
`

const gather = "events:\n  - {at: 20m, for: 10m, gather: print, share: 50%}\n"

// apart divides sessions into those for which people gather, and all others.
func apart(all []plan.Session) (gathered, others []plan.Session) {
	for _, s := range all {
		if s.Event > 0 {
			gathered = append(gathered, s)
		} else {
			others = append(others, s)
		}
	}
	return gathered, others
}

// TestGather: that share of the users begin one session more, spread over the time. Nothing else of the plan is another.
func TestGather(t *testing.T) {
	before := sessions(t, parse(t, gathering))
	gathered, others := apart(sessions(t, parse(t, gathering+gather)))
	if !reflect.DeepEqual(others, before) {
		t.Error("an event changes what people do anyway")
	}
	if n := float64(len(gathered)); math.Abs(n-500) > 5*math.Sqrt(250) {
		t.Errorf("%v of 1000 users gather, expected about 500", n)
	}
	half, numbers := 0, map[[2]int]bool{}
	for _, s := range append(gathered, others...) {
		if s.Behaviour != "print" {
			continue
		}
		if numbers[[2]int{s.User, s.Number}] {
			t.Fatalf("user %d has two sessions of number %d", s.User, s.Number)
		}
		numbers[[2]int{s.User, s.Number}] = true
		if s.Event == 0 {
			continue
		}
		if s.Event != 1 || s.Start < 20*time.Minute || s.Start >= 30*time.Minute || len(s.Steps) == 0 {
			t.Fatalf("%+v", s)
		}
		if s.Start < 25*time.Minute {
			half++
		}
	}
	if part := float64(half) / float64(len(gathered)); math.Abs(part-0.5) > 0.12 {
		t.Errorf("%v of them begin in the first half", part)
	}
	for _, s := range gathered {
		if own := slices.IndexFunc(before, func(o plan.Session) bool { return o.User == s.User && o.Behaviour == "print" && o.Number >= s.Number }); own >= 0 {
			t.Errorf("the gathered session of user %d has number %d, and the user begins more", s.User, s.Number)
		}
	}
}

// TestGatherAlone: who gathers, when, and for what, does not depend on how many users there are, on other events, on how
// long the crowd lives, or on how many more gather.
func TestGatherAlone(t *testing.T) {
	gathered, _ := apart(sessions(t, parse(t, gathering+gather)))
	for what, text := range map[string]string{
		"more users":       strings.Replace(gathering, "users: 1000", "users: 1001", 1) + gather,
		"another event":    gathering + strings.Replace(gather, "events:\n", "events:\n  - {at: 1m, for: 10m, gather: print, share: 90%}\n", 1),
		"a longer life":    strings.Replace(gathering, "length: 1h", "length: 3h", 1) + gather,
		"a larger share":   gathering + strings.Replace(gather, "50%", "80%", 1),
		"faults and links": gathering + strings.Replace(gather, "events:\n", "events:\n  - {at: 1m, for: 10m, service: print, fault: down}\n  - {at: 1m, for: 10m, persona: one, link: {loss: 1%}}\n", 1),
	} {
		now, _ := apart(sessions(t, parse(t, text)))
		for _, want := range gathered {
			i := slices.IndexFunc(now, func(s plan.Session) bool { return s.User == want.User && s.Start == want.Start })
			if i < 0 {
				t.Fatalf("%s: user %d does not gather at %v", what, want.User, want.Start)
			}
			got := now[i]
			got.Event, got.Number = want.Event, want.Number
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: user %d does\n%+v and not\n%+v", what, want.User, got, want)
			}
		}
	}
	one, _ := apart(sessions(t, parse(t, gathering+strings.Replace(gather, "share: 50%", "share: 100%, persona: one", 1))))
	for _, s := range one {
		if s.Persona != "one" {
			t.Fatalf("%+v gathers", s)
		}
	}
	if len(one) < 490 {
		t.Errorf("%d of persona one gather", len(one))
	}
}

// TestGatherForecast: gathered sessions are in the forecast, in the starts, and in needs. Faults and links change no plan.
func TestGatherForecast(t *testing.T) {
	write := func(text string) plan.Summary {
		s, err := plan.New(parse(t, text), nil).Write(context.Background(), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all := gathering + strings.Replace(gather, "for: 10m", "for: 1s", 1)
	before, after := write(gathering), write(all)
	gathered, _ := apart(sessions(t, parse(t, all)))
	if got := after.Minutes[20].Sessions - before.Minutes[20].Sessions; got != int64(len(gathered)) || after.SHA256 == before.SHA256 {
		t.Errorf("%d sessions more begin, and %d are gathered", got, len(gathered))
	}
	if after.Peak.Ports < before.Peak.Ports+int64(len(gathered))/2 {
		t.Errorf("%+v before, %+v after", before.Peak, after.Peak)
	}
	if same := write(gathering + "events:\n  - {at: 1m, for: 10m, service: print, fault: down}\n  - {at: 1m, for: 10m, persona: one, link: {loss: 1%}}\n"); same.SHA256 != before.SHA256 {
		t.Error("faults and links are another plan")
	}
	p := plan.New(parse(t, all), nil)
	starts, err := p.Starts(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	var drawn []plan.Session
	for _, at := range starts {
		drawn = append(drawn, again(t, p, at))
	}
	if again, _ := apart(drawn); len(again) != len(gathered) || !reflect.DeepEqual(byUser(again), byUser(gathered)) {
		t.Error("sessions that are drawn again are others")
	}
}

// byUser orders sessions by user.
func byUser(all []plan.Session) []plan.Session {
	slices.SortFunc(all, func(a, b plan.Session) int { return a.User - b.User })
	return all
}
