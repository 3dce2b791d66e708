package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/engine"
	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/stage"
)

// partFlags say which part of a crowd this machine plays, and when.
type partFlags struct {
	part  string
	begin string
}

// maxAhead is how long a part waits for its begin at most, so that a mistyped date is none. No source: a guess.
const maxAhead = 24 * time.Hour

// share is the part that flags say, and its begin; all of the crowd if they say none. Flags that do not go with it are refused.
func (f runFlags) share(cmd *cobra.Command, now time.Time) (p machine.Part, begin time.Time, err error) {
	refuse := func(flag, why, remedy string) (machine.Part, time.Time, error) {
		return machine.Part{}, time.Time{}, heddle.Errorf(heddle.BadArgument, "read flag", flag, why, remedy)
	}
	if !cmd.Flags().Changed("part") {
		if cmd.Flags().Changed("begin") {
			return refuse("--begin", "there is no --part", "say which part this machine plays, or leave --begin out")
		}
		return p, begin, nil
	}
	if p, err = machine.ParsePart(f.part); err != nil {
		return p, begin, err
	}
	begin, err = time.Parse(time.RFC3339, f.begin)
	switch {
	case !cmd.Flags().Changed("begin"):
		return refuse("--begin", "all parts must begin at one time, and none is given", "give all of them the same, such as "+soon(now))
	case err != nil || begin.Nanosecond() != 0:
		return refuse("--begin", fmt.Sprintf("%q is no time to a second", heddle.Clip(f.begin)), "write it like "+soon(now))
	case !begin.After(now):
		return refuse("--begin", begin.Format(time.RFC3339)+" has passed", "give all parts a later one, such as "+soon(now))
	case begin.Sub(now) > maxAhead:
		return refuse("--begin", begin.Format(time.RFC3339)+" is more than a day away", "start all parts later, or give a begin such as "+soon(now))
	case f.network == "":
		return refuse("--part", "there is no --network", "name a network that all machines have, of a mode that spans hosts: "+heddle.List(spanningModes()))
	case f.as != engine.Namespace:
		return refuse("--as", "a container is told a name server by what a service here was, and services may be on another machine", "leave --as out, or play all of the crowd on one machine")
	case f.rounds != 1:
		return refuse("--rounds", "all parts must begin each round at one time, and --begin is that of one", "play again with another --begin")
	case f.resume:
		return refuse("--resume", "a part that has ended cannot be played again without the others", "play all parts again, with another --begin")
	}
	return p, begin.UTC(), nil
}

// soon is an example of a begin.
func soon(now time.Time) string {
	return now.UTC().Add(2 * time.Minute).Truncate(time.Minute).Format(time.RFC3339)
}

// checkShared refuses a scenario, and a network, that cannot be played in parts.
func checkShared(p machine.Part, read scenario.Scenario, network heddle.Network) error {
	if p.IsAll() {
		return nil
	}
	if by := read.Programs(); len(by) > 0 {
		return heddle.Errorf(heddle.BadArgument, "play in parts crowd", read.Name,
			"services are by "+heddle.List(by)+", whose passwords and certificates only the process knows that starts them", "take 'by' out of the scenario: services that are built in need none")
	}
	if read.Users < p.Of {
		return heddle.Errorf(heddle.BadArgument, "play in parts crowd", read.Name, fmt.Sprintf("it has %s, and some parts would have none", heddle.Count(read.Users, "user")), "give more --users, or fewer parts")
	}
	return checkModes([]string{network.Mode}, p.Of)
}

// hereOf says which users and services a part has, for what it needs.
func hereOf(p machine.Part) plan.Here {
	if p.IsAll() {
		return plan.Here{}
	}
	return plan.Here{User: p.Has, Service: p.Has}
}

// alone refuses a network on which another crowd is, or this part.
func (s *session) alone(ctx context.Context, p machine.Part, of machine.Meeting, network string) error {
	if p.IsAll() {
		return nil
	}
	_, err := stage.Parts(ctx, s.client(), network, p, of, nil)
	return err
}

// elsewhere refuses a fault of a service that another part has.
func (p *crowdPlay) elsewhere(c event.Command) error {
	if p.out.Part == nil || c.Begin == nil || c.Begin.Service == "" {
		return nil
	}
	for i, name := range scenario.Sorted(p.read.Servers()) {
		if home := p.out.Part.Home(i + 1); name == c.Begin.Service && !p.out.Part.Has(i+1) {
			return heddle.Errorf(heddle.BadArgument, "begin fault of service", name, fmt.Sprintf("part %d/%d has it", home, p.out.Part.Of), "give the command on that part's machine")
		}
	}
	return nil
}

// ownServers are the services of a part that can be given faults.
func ownServers(read scenario.Scenario, p machine.Part) (all []string) {
	own := map[string]bool{}
	for i, name := range scenario.Sorted(read.Servers()) {
		own[name] = p.Has(i + 1)
	}
	for _, name := range read.CanFail() {
		if own[name] {
			all = append(all, name)
		}
	}
	return all
}

// clockFields say how the clocks of a crowd's machines were, where it has several.
func clockFields(r report.Report) (all [][2]string) {
	for _, one := range r.Rounds {
		if c := one.Clock; c != nil {
			all = append(all, [2]string{"clocks", fmt.Sprintf("up to %s apart, within %s", shortDuration(c.Ahead.Abs()), shortDuration(c.Within))})
		}
		if one.Early != nil {
			all = append(all, [2]string{"ended early", strings.Join(one.Early, "; ")})
		}
	}
	return all
}
