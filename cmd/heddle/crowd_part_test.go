package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// TestCrowdPartRefused: what does not go with a part is refused before anybody is asked anything.
func TestCrowdPartRefused(t *testing.T) {
	file := scenarioFile(t, players)
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	soon := at(time.Hour)
	for _, c := range []struct{ args, want string }{
		{"--network n --part 0/3 --begin " + soon, "--part"},
		{"--network n --part 4/3 --begin " + soon, "there is no part 4 of 3"},
		{"--network n --part 1/1 --begin " + soon, "in 2 to 64 parts"},
		{"--network n --part= --begin " + soon, "--part"},
		{"--network n --part 1/3", "none is given"},
		{"--network n --begin " + soon, "there is no --part"},
		{"--network n --part 1/3 --begin " + at(-time.Second), "has passed"},
		{"--network n --part 1/3 --begin " + at(25*time.Hour), "more than a day away"},
		{"--network n --part 1/3 --begin 20:00", "is no time to a second"},
		{"--network n --part 1/3 --begin " + strings.Replace(soon, "Z", ".5Z", 1), "is no time to a second"},
		{"--part 1/3 --begin " + soon, "there is no --network"},
		{"--part 1/3 --modes overlay,bridge --begin " + soon, "there is no --network"},
		{"--part 1/3 --hosts 3 --begin " + soon, "there is no --network"},
		{"--network n --modes overlay --part 1/3 --begin " + soon, "network n has its mode"},
		{"--network n --as docker --part 1/3 --begin " + soon, "told a name server"},
		{"--network n --rounds 2 --part 1/3 --begin " + soon, "--rounds"},
		{"--network n --resume --out report.json --part 1/3 --begin " + soon, "cannot be played again without the others"},
	} {
		got := call(t, append([]string{"crowd", "run", file}, strings.Fields(c.args)...)...)
		if got.code != 2 || !strings.Contains(got.stderr, c.want) {
			t.Errorf("%s: %+v", c.args, got)
		}
	}
}

// TestCheckShared: scenarios and networks that cannot be played in parts are refused.
func TestCheckShared(t *testing.T) {
	read := func(text string) scenario.Scenario {
		s, err := scenario.Read(scenarioFile(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	own := read(strings.Replace(players, "web: {by: nginx, tls: true}", "web: {sites: 2}", 1))
	overlay, bridge := heddle.Network{Mode: "overlay"}, heddle.Network{Mode: "bridge"}
	few, err := own.Resize(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of   machine.Part
		read scenario.Scenario
		on   heddle.Network
		want string
	}{
		{machine.Part{Number: 1, Of: 3}, own, overlay, ""},
		{machine.Part{}, read(players), bridge, ""},
		{machine.Part{Number: 1, Of: 3}, read(players), overlay, "services are by nginx"},
		{machine.Part{Number: 1, Of: 3}, own, bridge, "each host has a network of its own"},
		{machine.Part{Number: 1, Of: 3}, few, overlay, "it has 2 users"},
	} {
		err := checkShared(c.of, c.read, c.on)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v on %s: %v", c.of, c.on.Mode, err)
		}
	}

	var all []string
	for number := 1; number <= 3; number++ {
		p := machine.Part{Number: number, Of: 3}
		play := &crowdPlay{read: own, out: report.Report{Part: &report.Part{Part: p}}}
		servers := ownServers(own, p)
		all = append(all, servers...)
		for _, name := range own.CanFail() {
			err := play.elsewhere(event.Command{Begin: &scenario.Event{Service: name, Fault: scenario.Down}})
			if (err == nil) != slices.Contains(servers, name) || err != nil && !strings.Contains(err.Error(), "has it") {
				t.Errorf("part %s, which has %v, is told of %s: %v", p, servers, name, err)
			}
		}
	}
	if slices.Sort(all); !slices.Equal(all, slices.Sorted(slices.Values(own.CanFail()))) {
		t.Errorf("of services %v, parts can fail %v", own.CanFail(), all)
	}
}
