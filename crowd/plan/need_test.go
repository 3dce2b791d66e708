package plan_test

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/plan"
)

// TestSummary: the minutes have what the sessions have, but for what comes after the end.
func TestSummary(t *testing.T) {
	s := parse(t, `
crowd: loaders
users: 40
clock: {start: "Mon 10:00", length: 9m30s}
personas: {loader: {share: 1, does: {print: 20/h, domain: 20/h, mail: 10/h}}}
`)
	_, sum := drawn(t, s)
	if len(sum.Minutes) != 10 {
		t.Fatalf("%d minutes", len(sum.Minutes))
	}
	var want plan.Amounts
	for _, one := range sessions(t, s) {
		want.Sessions++
		for _, step := range one.Steps {
			sent, received := step.Bytes()
			want = want.Plus(plan.Amounts{Steps: 1, Requests: step.Requests(), Connections: int64(step.Connections),
				Sent: sent, Received: received})
		}
	}
	added := plan.Amounts{}
	for _, m := range sum.Minutes {
		added = added.Plus(m)
	}
	if sum.Total != want || added != want || want.Sessions == 0 {
		t.Errorf("in all %+v, by minute %+v, the sessions have %+v", sum.Total, added, want)
	}
}

// TestByTheClock: what goes by the clock is spread over the minutes, as far as the crowd lives.
func TestByTheClock(t *testing.T) {
	s := parse(t, `
crowd: talkers
users: 1 # who begins 60 sessions a minute: the load grows for two minutes, and then stays
clock: {start: "Mon 10:00", length: 5m}
personas: {talker: {share: 1, does: {talk: 60/m}}}
behaviours:
  talk:
    start: wait
    states:
      wait: {think: 90s, next: {talk: 1}}
      talk: {do: voice.call, sends: 100, receives: 50, every: 1s, lasts: 2m, next: {end: 1}}
`)
	_, sum := drawn(t, s)
	for minute, want := range []int64{0, 450, 3600, 6750, 7200} {
		if got := sum.Minutes[minute].Requests; got < want-want/3-20 || got > want+want/3+20 {
			t.Errorf("minute %d has %d requests, about %d were expected", minute, got, want)
		}
	}
	if sum.Total.Sent != 100*sum.Total.Requests || sum.Total.Received != 50*sum.Total.Requests {
		t.Errorf("%+v", sum.Total)
	}
	if c := sum.Peak.Connections; c < 80 || c > 160 {
		t.Errorf("%d connections at once, about 120 were expected", c)
	}
}

// TestRemedies: a remedy is one that helps.
func TestRemedies(t *testing.T) {
	_, sum := drawn(t, example(t, "office"))
	err := sum.Refuse(sum.Needs(plan.Limits{Memory: 1e6}), []string{"bridge"})
	if err == nil || strings.Contains(err.Error(), "--modes") {
		t.Errorf("memory is needed in all modes: %v", err)
	}
	sum.Peak.Ports = 64513
	err = sum.Refuse(sum.Needs(plan.Limits{Ports: 64512}), []string{"host"})
	if err == nil || strings.Contains(err.Error(), "sysctl") || strings.Count(err.Error(), "fewer") != 1 {
		t.Errorf("an address has no more ports: %v", err)
	}
}

// TestPlus: a sum that is too large does not wrap round.
func TestPlus(t *testing.T) {
	large := plan.Amounts{Requests: 1 << 62, Sent: math.MaxInt64, Received: 5}
	want := plan.Amounts{Requests: math.MaxInt64, Sent: math.MaxInt64, Received: 10}
	if got := large.Plus(large); got != want {
		t.Errorf("%+v, and not %+v", got, want)
	}
}

func TestFormatBytes(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1.0 KB", 999_949: "999.9 KB",
		999_950: "1.0 MB", 77_800_000: "77.8 MB", math.MaxInt64: "9223.4 PB"} {
		if got := plan.FormatBytes(bytes); got != want {
			t.Errorf("%d bytes are %s, and not %s", bytes, got, want)
		}
	}
}

func TestRefuse(t *testing.T) {
	_, sum := drawn(t, example(t, "office"))
	plenty := plan.Limits{Memory: 1 << 40, Files: 1 << 20, FilesOfUser: 1 << 20, Ports: 28232,
		Neighbours: 1 << 20, Tracked: 1 << 20, BridgePorts: 1 << 17}
	all := []string{"bridge", "routed", "macvlan", "overlay", "host"}
	for name, c := range map[string]struct {
		limits plan.Limits
		modes  []string
		want   []string // words of the error; none: it is carried
	}{
		"plenty":        {plenty, all, nil},
		"nothing known": {plan.Limits{}, all, nil},
		"memory":        {plan.Limits{Memory: 1e6}, all, []string{"MB of memory", "MemAvailable allows 1.0 MB"}},
		"files":         {plan.Limits{Files: 10}, all, []string{"open files", "sysctl -w fs.nr_open=1024"}},
		"user's files":  {plan.Limits{FilesOfUser: 10}, all, []string{"RLIMIT_NOFILE", "as root: ulimit -Hn 1024"}},
		"no room":       {plan.Limits{FilesOfUser: 10, Files: 1000}, all, []string{"ulimit -Hn 1000"}},
		"ports":         {plan.Limits{Ports: 10}, all, []string{"ports in mode host", "ip_local_port_range"}},
		"no mode host":  {plan.Limits{Ports: 10}, all[:4], nil},
		"neighbours":    {plan.Limits{Neighbours: 10}, all, []string{"neighbours in mode bridge", "gc_thresh3=1024"}},
		"routed":        {plan.Limits{Neighbours: 10, BridgePorts: 10}, []string{"routed"}, nil},
		"conntrack":     {plan.Limits{Tracked: 10}, []string{"routed"}, []string{"nf_conntrack_max=2048"}},
		"macvlan":       {plan.Limits{Tracked: 10}, []string{"macvlan"}, nil},
		"bridges":       {plan.Limits{BridgePorts: 10}, all, []string{"bridge ports", "leave out mode bridge"}},
		"several":       {plan.Limits{BridgePorts: 10, Files: 10}, all, []string{"bridge ports", "fs.nr_open"}},
		"asked for":     {plan.Limits{Neighbours: 10}, all[1:3], []string{"in mode macvlan, and", "or other --modes"}},
	} {
		err := sum.Refuse(sum.Needs(c.limits), c.modes)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err != nil && !errors.Is(err, heddle.CrowdTooLarge.Sentinel()) {
			t.Errorf("%s: %v", name, err)
		}
		if i := slices.IndexFunc(c.want, func(word string) bool { return !strings.Contains(err.Error(), word) }); i >= 0 {
			t.Errorf("%s: %v does not say %q", name, err, c.want[i])
		}
	}
}

// TestLinks: a link changes nothing of the plan. It needs a file, and a little memory.
func TestLinks(t *testing.T) {
	const plain = `
crowd: callers
users: 40
clock: {start: "Mon 10:00", length: 9m30s}
personas:
  near: {share: 50%, does: {mail: 10/h}}
  far: {share: 50%, does: {mail: 10/h}}
`
	before, without := drawn(t, parse(t, plain))
	after, with := drawn(t, parse(t, strings.Replace(plain, "far: {", "far: {link: {delay: 30ms, loss: 1%}, ", 1)))
	if before != after || without.SHA256 != with.SHA256 {
		t.Error("the plan is another one")
	}
	need := func(s plan.Summary, what string) int64 {
		all := s.Needs(plan.Limits{})
		return all[slices.IndexFunc(all, func(n plan.Need) bool { return n.What == what })].Need
	}
	linked := int64(with.Personas["far"])
	if without.Linked != 0 || int64(with.Linked) != linked || linked < 18 || need(with, "open files") != need(without, "open files")+linked ||
		need(with, "memory") <= need(without, "memory") {
		t.Errorf("%d links: %+v, %+v", linked, with.Needs(plan.Limits{}), without.Needs(plan.Limits{}))
	}
}

// TestIdle: people who do nothing yet need less than those who do, and as many links.
func TestIdle(t *testing.T) {
	s := parse(t, `
crowd: idle
users: 40
clock: {start: "Mon 10:00", length: 10m}
personas: {near: {share: 50%, does: {mail: 20/h}}, far: {share: 50%, link: {delay: 30ms}, does: {mail: 20/h}}}
`)
	_, sum := drawn(t, s)
	idle := plan.New(s, nil).Idle()
	if idle.Users != 40 || idle.Linked == 0 || idle.Linked != sum.Linked || idle.Memory() <= 0 || idle.Memory() >= sum.Memory() {
		t.Errorf("%d links and %d bytes, of %d and %d", idle.Linked, idle.Memory(), sum.Linked, sum.Memory())
	}
	captured := idle
	captured.Captured = 40
	if files := func(s plan.Summary) int64 { return s.Needs(plan.Limits{})[1].Need }; files(captured) != files(idle)+40 {
		t.Errorf("%d files, and %d with a capture", files(idle), files(captured))
	}
	causes, remedies, others := plan.Lacking(idle.Needs(plan.Limits{Memory: 1, BridgePorts: 10}), []string{"bridge"})
	if len(causes) != 2 || len(remedies) != 1 || !others {
		t.Errorf("%q, %q, %v", causes, remedies, others)
	}
}

// TestOnly: of several machines, each needs what its users and services need, and no more. All together have what one would have, and
// all have the same plan.
func TestOnly(t *testing.T) {
	s := parse(t, `
crowd: shared
users: 40
clock: {start: "Mon 10:00", length: 10m}
personas: {one: {share: 1, does: {print: 60/h, chat: 20/h, mail: 20/h}, link: {delay: 1ms}}}
`)
	ctx := context.Background()
	whole, err := plan.New(s, nil).Write(ctx, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var users, linked int
	var steps, answered, memory int64
	for part := range 3 {
		mine := func(number int) bool { return (number-1)%3 == part }
		sum, err := plan.New(s, nil).Only(plan.Here{User: mine, Service: mine}).Write(ctx, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if sum.SHA256 != whole.SHA256 || sum.Users != 14-min(part, 1) || sum.Peak.Connections >= whole.Peak.Connections || sum.Peak.Answered == 0 {
			t.Errorf("part %d: %+v, and all %+v", part+1, sum, whole)
		}
		users, linked, steps = users+sum.Users, linked+sum.Linked, steps+sum.Total.Steps
		answered, memory = answered+sum.Peak.Answered, memory+sum.Memory()
	}
	if users != whole.Users || linked != whole.Linked || steps != whole.Total.Steps || answered < whole.Peak.Answered || memory < whole.Memory() || memory > whole.Memory()+(130<<20) {
		t.Errorf("%d users, %d with links, %d steps, %d answered, %d bytes; and all %+v with %d bytes", users, linked, steps, answered, memory, whole, whole.Memory())
	}
}
