package plan_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// TestPrograms: a program changes nothing of the plan. It has the far ends of its connections, needs memory, and must be
// allowed to have them.
func TestPrograms(t *testing.T) {
	const plain = `
crowd: readers
users: 400
clock: {start: "Mon 10:00", length: 5m}
services: {chat: {sites: 1}}
personas: {one: {share: 100%, does: {browse: 20/h, chat: 20/h}}}
`
	before, without := drawn(t, parse(t, plain))
	after, with := drawn(t, parse(t, strings.Replace(plain, "services: {", "services: {web: {by: nginx, tls: true}, ", 1)))
	if before != after || without.SHA256 != with.SHA256 || without.Peak.Connections != with.Peak.Connections {
		t.Error("the plan is another one")
	}
	if len(without.Served) > 0 || len(with.Served) != 1 || with.Served["web"] == 0 || with.Peak.Answered == 0 ||
		without.Peak.Answered != without.Peak.Connections || with.Peak.Answered+with.Served["web"] < with.Peak.Connections {
		t.Errorf("%+v, %v; %+v, %v", without.Peak, without.Served, with.Peak, with.Served)
	}
	need := func(s plan.Summary, what string) int64 {
		all := s.Needs(plan.Limits{})
		if i := slices.IndexFunc(all, func(n plan.Need) bool { return n.What == what }); i >= 0 {
			return all[i].Need
		}
		return 0
	}
	if far := without.Peak.Connections - with.Peak.Answered; need(with, "open files") != need(without, "open files")-far || far <= 0 ||
		need(with, "memory") <= need(without, "memory") || need(without, "open files of a program") != 0 {
		t.Errorf("%+v, %+v", with.Needs(plan.Limits{}), without.Needs(plan.Limits{}))
	}
	most := need(with, "open files of a program")
	if err := with.Refuse(with.Needs(plan.Limits{FilesOfUser: most - 1}), []string{"bridge"}); err == nil || most <= with.Served["web"]*16/15 {
		t.Errorf("%d files: %v", most, err)
	}
	if met := with.Needs(plan.Limits{FilesOfUser: most - 1}); !slices.ContainsFunc(met, func(n plan.Need) bool { return n.What == "open files of a program" && !n.Met() }) {
		t.Errorf("%+v", met)
	}
}

func filesOfProgram(s plan.Summary) int64 {
	all := s.Needs(plan.Limits{})
	return all[slices.IndexFunc(all, func(n plan.Need) bool { return n.What == "open files of a program" })].Need
}

// TestTakes: what programs take is that of each.
func TestTakes(t *testing.T) {
	const text = `
crowd: operators
users: 100
clock: {start: "Mon 10:00", length: 5m}
services: {SHELL}
personas: {one: {share: 100%, does: {ssh: 20/h}}}
`
	_, without := drawn(t, parse(t, strings.Replace(text, "SHELL", "", 1)))
	_, with := drawn(t, parse(t, strings.Replace(text, "SHELL", "shell: {by: openssh}", 1)))
	open := with.Served["shell"]
	if got, want := with.Memory()-without.Memory(), 9<<20+open*2300<<10; got != want || open == 0 {
		t.Errorf("%d bytes for %d connections; expected %d", got, open, want)
	}
	mail := strings.Replace(text, "ssh", "mail", 1)
	_, plain := drawn(t, parse(t, strings.Replace(mail, "SHELL", "mail: {by: dovecot}", 1)))
	_, secure := drawn(t, parse(t, strings.Replace(mail, "SHELL", "mail: {by: dovecot, tls: true}", 1)))
	if one, two := filesOfProgram(plain), filesOfProgram(secure); plain.Served["mail"] == 0 || two-scenario.FilesOfProgram != 2*(one-scenario.FilesOfProgram) {
		t.Errorf("%d files, and %d with TLS", one, two)
	}
	web := strings.Replace(text, "ssh", "browse", 1)
	_, without = drawn(t, parse(t, strings.Replace(web, "SHELL", "", 1)))
	_, with = drawn(t, parse(t, strings.Replace(web, "SHELL", "web: {by: caddy, tls: true, http: 3}", 1)))
	if got, want := with.Memory()-without.Memory(), 56<<20+with.Served["web"]*224<<10; got != want || with.Served["web"] == 0 || filesOfProgram(with) != scenario.FilesOfProgram {
		t.Errorf("%d bytes, %d files, and %d bytes were expected", got, filesOfProgram(with), want)
	}
}
