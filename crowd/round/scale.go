package round

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/plan"
	"github.com/heddle-network/heddle/crowd/play"
	"github.com/heddle-network/heddle/crowd/stage"
)

// scaler gives the crowd of a round another number of users, one time after the other, until the round ends.
type scaler struct {
	Options
	ctx     context.Context // ends with the round
	stop    context.CancelFunc
	plan    *plan.Plan
	stage   *stage.Stage
	player  *play.Player
	begun   time.Time
	turn    sync.Mutex // who scales
	mu      sync.Mutex
	present int // users
	all     []diary.Scale
}

func newScaler(ctx context.Context, o Options, drawn *plan.Plan, s *stage.Stage, p *play.Player) *scaler {
	x := &scaler{Options: o, plan: drawn, stage: s, player: p, begun: time.Now(), present: o.Part.Count(o.Scenario.Users)}
	x.ctx, x.stop = context.WithCancel(ctx)
	return x
}

// maxScales is how often a round is scaled at most, and maxWhy is for how long it is said why it failed, in bytes: all of it is in
// its report, and in what is shown of the run.
const (
	maxScales = 1000
	maxWhy    = 300
)

// Scale gives the crowd another number of users. It returns when all new ones are attached, or all others are gone. If that many cannot be
// attached, or the round ends before, it fails, and nothing is left of the new ones.
func (x *scaler) Scale(users int) (diary.Scale, error) {
	if _, err := x.Scenario.Resize(users); err != nil {
		return diary.Scale{}, err
	}
	x.turn.Lock()
	defer x.turn.Unlock()
	present, all := x.now()
	done := diary.Scale{From: present, To: users, Began: time.Since(x.begun)}
	switch {
	case x.ctx.Err() != nil:
		return diary.Scale{}, event.NotPlaying()
	case !x.Part.IsAll():
		return diary.Scale{}, heddle.Errorf(heddle.BadArgument, "scale crowd to users", strconv.Itoa(users),
			"it is in parts, of which each knows all users of the others since it began", "play it with more --users")
	case users == present:
		return done, nil
	case users > present && len(x.Scenario.Programs()) > 0:
		return diary.Scale{}, heddle.Errorf(heddle.BadArgument, "scale crowd to users", strconv.Itoa(users),
			"services are by "+heddle.List(x.Scenario.Programs())+", which is told when it starts whom it answers", "play it with more --users, or with services that are built in")
	case len(all) >= maxScales:
		return diary.Scale{}, heddle.Errorf(heddle.CrowdFailed, "scale crowd to users", strconv.Itoa(users),
			fmt.Sprintf("this round has been scaled %d times, and can be no more", maxScales), "wait for the next round")
	}
	x.player.Stay()
	x.Progress(fmt.Sprintf("from %d to %d users", present, users))
	var err error
	if users > present {
		err = x.more(present, users)
	} else {
		x.player.Leave(users)
		err = x.stage.Fewer(x.ctx, users)
	}
	done.Took = time.Since(x.begun) - done.Began
	if err != nil {
		if x.ctx.Err() != nil {
			err = heddle.Errorf(heddle.CrowdFailed, "scale crowd to users", strconv.Itoa(users), "the round ended before", "wait for the next round")
		}
		done.Failed = err.Error()
		if len(done.Failed) > maxWhy {
			done.Failed = strings.ToValidUTF8(done.Failed[:maxWhy], "") + "…"
		}
	}
	x.add(done)
	said := fmt.Sprintf("%s, in %s", done, done.Took.Round(10*time.Millisecond))
	if err != nil {
		said = fmt.Sprintf("%d users, for %d failed: %s", done.Now(), users, done.Failed)
	}
	x.Progress(said)
	return done, err
}

// more attaches users, who begin what they have planned from then on.
func (x *scaler) more(present, users int) error {
	starts, err := x.plan.StartsOf(x.ctx, present+1, users)
	if err != nil {
		return err
	}
	seats, err := x.stage.More(x.ctx, users)
	if err == nil && !x.player.Join(seats, starts) {
		x.stop() // all is over, and the round takes everybody away
		err = event.NotPlaying()
	}
	return err
}

func (x *scaler) add(s diary.Scale) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.present = s.Now()
	x.all = append(x.all, s)
	x.Diary.Scale(s)
}

// now is how many users there are, and what has been done to have them.
func (x *scaler) now() (present int, all []diary.Scale) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.present, slices.Clone(x.all)
}

// end ends what is under way, and scales no more. It returns what has been done.
func (x *scaler) end() []diary.Scale {
	x.stop()
	x.turn.Lock()
	defer x.turn.Unlock()
	_, all := x.now()
	return all
}
