// Package round plays a plan once, on one network: everybody is attached, the plan is played, everybody is detached.
package round

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/capture"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/engine"
	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/link"
	"github.com/heddle-network/heddle/crowd/machine"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/play"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/script"
	"github.com/heddle-network/heddle/crowd/stage"
	"github.com/heddle-network/heddle/crowd/tally"
)

// Options of a round.
type Options struct {
	Scenario scenario.Scenario
	// Hosts have the users in turn, and the services.
	Hosts []stage.Host
	// Network is one that is there, on all hosts.
	Network heddle.Network
	// Engine makes each user's container; with nil, a user is a network namespace.
	Engine *engine.Engine
	// Free is how much memory the machine can give to programs, in bytes (MemAvailable).
	Free func() int64
	// Diary records what happens; nil records nothing. Number is the round's there, from 1.
	Diary  *diary.Recorder
	Number int
	// Capture is where the packets of all users are written, and Most how many bytes of each, 0 for all; nil captures none.
	Capture io.Writer
	Most    int
	// Meeting is what all parts have in common, if Part is not all of the crowd. The round begins with it.
	Part    machine.Part
	Meeting machine.Meeting
	// Control is what gives commands to the round while it is played.
	Control *event.Control
	// Live is called every two seconds while the round is played; nil is not.
	Live func(Live)
	// Progress is called at each stage of the round.
	Progress func(string)
}

// Round is what one round was like.
type Round struct {
	Network string `json:"network"`
	Mode    string `json:"mode"`
	// Users is how many there were when it began; of a part, those of the part.
	Users  int           `json:"users"`
	Length time.Duration `json:"length"` // in nanoseconds
	// Attached is how long it took until all users were attached, Detached until none was.
	Attached time.Duration `json:"attached"`
	Detached time.Duration `json:"detached"`
	// Processor is how much processor time the crowd's program used while it played, Machine all the machine did; 1 is
	// one processor.
	Processor float64 `json:"processor"`
	Machine   float64 `json:"machine"`
	// MemoryPerUser is how much less memory the machine had for each user at most, in bytes, while the crowd played:
	// of the crowd's program, the kernel and the agent. It is 0 with fewer than 500 users: what else the machine does
	// takes as much; and if the crowd was scaled: the most memory and the most users need not have been at one time.
	MemoryPerUser int64 `json:"memoryPerUser,omitempty"`
	// OnLinks is what happened to the frames of users with links, both ways; nil if nobody has one.
	OnLinks *link.Count `json:"onLinks,omitempty"`
	tally.Result
	// Captured is what was captured; nil if nothing was.
	Captured *capture.Count `json:"captured,omitempty"`
	// Events are those that have happened, in the order of time.
	Events []diary.Event `json:"events,omitempty"`
	// Ended says of services whose program ended while the crowd played, how.
	Ended map[string]string `json:"ended,omitempty"`
	// Scales are the changes of how many users there were, given by hand, in the order of time.
	Scales []diary.Scale `json:"scales,omitempty"`
	// Clock is that of the other machine which was most apart, if the crowd is in parts; Sheet is the tally, which can be added to those of other
	// parts; Early says which parts ended before their time.
	Clock *machine.Clock `json:"clock,omitempty"`
	Sheet *tally.Sheet   `json:"sheet,omitempty"`
	Early []string       `json:"early,omitempty"`
	// Invalid says why the figures say nothing about the network; "" if they do.
	Invalid string `json:"invalid,omitempty"`
}

// Live is what a round that is being played has come to.
type Live struct {
	Number int           `json:"number"`
	Since  time.Duration `json:"since"` // how long it has been played, in nanoseconds
	// Due is how many sessions should have begun.
	Due int64 `json:"due"`
	// Present is how many users there are now.
	Present int `json:"present"`
	Round
}

// maxMissed is the share of the frames on links that the crowd may lose itself, before its figures say more about itself
// than about the network.
const maxMissed = 0.001

// grace is how long sessions may go on after the plan has ended.
const grace = 30 * time.Second

// Play plays a round. If it fails, or the context ends, what was made is removed; with the context's end, the figures
// until then are returned with the error.
func Play(ctx context.Context, o Options) (r Round, err error) {
	author := script.NewAuthor(ctx)
	defer author.Close()
	drawn := plan.New(o.Scenario, author)
	starts, err := drawn.Starts(ctx)
	if err != nil {
		return r, err
	}
	starts = slices.DeleteFunc(starts, func(s plan.Start) bool { return !o.Part.Has(int(s.User)) })
	users := o.Part.Count(o.Scenario.Users)
	served, err := served(ctx, o.Scenario, drawn)
	if err != nil {
		return r, err
	}
	debug.FreeOSMemory() // what an earlier round left
	free := o.Free()
	t, gone := tally.New(intended(drawn, starts)), &gone{tell: o.Progress}
	nice, err := niceness(0)
	if err != nil {
		return r, err
	}
	captured := o.capture()
	s, err := stage.Set(ctx, stage.Options{Hosts: o.Hosts, Capture: captured, Network: o.Network, Engine: o.Engine, Services: o.Scenario.Servers(), Connections: served,
		Ended: gone.add, Nice: nice, Users: o.Scenario.Users, Part: o.Part,
		Persona: drawn.Persona, Links: o.Scenario.Links(), Seed: o.Scenario.Seed, Late: t.Frame,
		Attached: tellThousands(users, o.Progress)})
	if err != nil {
		return r, err
	}
	o.Progress(fmt.Sprintf("%d users are attached, in %s", users, s.Took.Round(10*time.Millisecond)))
	group, err := o.gather(ctx, s)
	if err != nil {
		return r, errors.Join(err, s.Clear(context.WithoutCancel(ctx)))
	}
	length := time.Duration(o.Scenario.Clock.Length)
	back := goAhead(nice)
	use := beginUse(o.Free)
	stop := progress(length, o.Progress)
	o.Diary.Begin(diary.Round{Number: o.Number, Mode: o.Network.Mode, Began: time.Now()})
	player := play.New(group.options(ctx, play.Options{Plan: drawn, Users: s.Users(), Services: s.Services, Length: length, Grace: grace, Tally: t, Diary: o.Diary}), starts)
	group.play(player)
	events := event.Begin(o.Scenario, s, o.Diary)
	scales := newScaler(ctx, o, drawn, s, player)
	leave := o.Control.Lead(events, scales)
	unwatch := watch(o, Live{Number: o.Number, Round: Round{Network: o.Network.Name, Mode: o.Network.Mode, Users: users, Length: length, Attached: s.Took}}, player, events, scales)
	player.Play(ctx)
	leave()
	scaled := scales.end()
	back()
	stop()
	unwatch()
	r = Round{Network: o.Network.Name, Mode: o.Network.Mode, Users: users, Length: length, Attached: s.Took}
	r.Scales = scaled
	use.end(&r, free)
	r.Result, r.Ended = t.Result(), gone.all()
	unadded := group.end(&r, t)
	var failed error
	r.Events, failed = events.End()
	hostGone := stage.Gone(o.Hosts)
	if len(o.Scenario.Links()) > 0 {
		done := s.Links.Counted()
		r.OnLinks = &done
	}
	switch r.Invalid = r.invalid(); {
	case hostGone != nil:
		r.Invalid = hostGone.Error()
	case ctx.Err() != nil:
		r.Invalid = "it was broken off"
	case failed != nil:
		r.Invalid = "its events were others than planned: " + failed.Error()
	case player.Failed() != nil:
		r.Invalid = "it was played otherwise than planned: " + player.Failed().Error()
	case r.Early != nil:
		r.Invalid = "people and services were missing: " + strings.Join(r.Early, "; ")
	}
	unwritten := o.end(captured, &r)
	s.Links.Close()
	o.Progress("detaching all")
	begun := time.Now()
	err = s.Clear(context.WithoutCancel(ctx))
	r.Detached = time.Since(begun)
	return r, errors.Join(ctx.Err(), unwritten, unadded, err)
}

// invalid says why the figures say nothing about the network; "" if they do.
func (r Round) invalid() string {
	if late := r.Late(); late > tally.MaxLate {
		return fmt.Sprintf("the crowd itself was late: p99 %s, and %s is allowed", late.Round(100*time.Microsecond), tally.MaxLate)
	}
	if l := r.OnLinks; l != nil && float64(l.Missed) > maxMissed*float64(l.Frames+l.Missed) {
		return fmt.Sprintf("the crowd itself lost frames on links: %d of %d, and one of %d is allowed", l.Missed, l.Frames+l.Missed,
			int(1/maxMissed))
	}
	return ""
}

// tellThousands tells how many users are attached, each time that another thousand is, but not when all are.
func tellThousands(all int, tell func(string)) func(int) {
	told := 0
	return func(n int) {
		if n/1000 > told/1000 && n != all {
			tell(fmt.Sprintf("%d users are attached", n))
			told = n
		}
	}
}

// progress tells now and then how much has been played, until it is stopped.
func progress(length time.Duration, tell func(string)) (stop func()) {
	tell("playing for " + length.String())
	begun, ticker, stopped := time.Now(), time.NewTicker(max(length/10, 10*time.Second)), make(chan struct{})
	var telling sync.WaitGroup
	telling.Go(func() {
		for {
			select {
			case <-ticker.C:
				tell(fmt.Sprintf("%s of %s", time.Since(begun).Round(time.Second), length))
			case <-stopped:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(stopped)
		telling.Wait()
	}
}

// intended counts the sessions of each behaviour.
func intended(p *plan.Plan, starts []plan.Start) map[string]int64 {
	all := map[string]int64{}
	for _, s := range starts {
		all[p.Behaviour(s)]++
	}
	return all
}
