package hardship_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// storm is a crowd of callers that create and delete networks, attach, detach
// and die, in all modes, while the agent is killed again and again.
type storm struct {
	t          *testing.T
	socket     string
	seed       uint64
	done       atomic.Bool
	operations atomic.Int64
	callers    []*caller
	wait       sync.WaitGroup
}

const callersMany, podsEach = 4, 3

// nicPairs is for how many pairs of containers there are NICs; there are more
// containers, so that some go without.
const nicPairs = 2

// TestStorm: 1,000 operations, a kill every 20 to 50, and of the calm containers
// beside it not a packet lost. HEDDLE_SEED repeats one.
func TestStorm(t *testing.T) {
	soak.Turn(t, 0)
	cell.Need(t)
	rage(t, 1000)
}

// TestSoakStorm is the full scale.
func TestSoakStorm(t *testing.T) {
	cell.Need(t)
	soak.Need(t, "the full scale takes minutes")
	rage(t, 10000)
}

// rage lets the storm go on for so many operations.
func rage(t *testing.T, operations int64) {
	s := &storm{t: t, seed: seed(t)}
	dir := folder(t)
	s.prepare()
	before := world.NewFootprint(t)
	a := cell.Start(t, dir)
	everyMode(t, a)
	calmDown := calm(t, a)
	s.socket = a.Socket
	for _, c := range s.callers {
		s.wait.Go(c.work)
	}
	r := rand.New(rand.NewPCG(s.seed, callersMany))
	kills := 0
	for ; s.operations.Load() < operations; kills++ {
		s.await(s.operations.Load() + 20 + r.Int64N(31))
		a.Kill()
		a = cell.Start(t, dir)
	}
	s.done.Store(true)
	s.wait.Wait()
	t.Logf("%d operations, %d kills", s.operations.Load(), kills)
	for _, c := range s.callers {
		c.bury(a)
	}
	a.AuditEmpty(t)
	s.promisesKept(a)
	s.clear(a)
	a.AuditEmpty(t)
	calmDown(a)
	a.AuditEmpty(t)
	a.Stop()
	before.Unchanged(t)
}

// seed is HEDDLE_SEED, or a new one.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64N(1e9)
	if text := os.Getenv("HEDDLE_SEED"); text != "" {
		given, err := strconv.ParseUint(text, 10, 64)
		cell.Must(t, err)
		n = given
	}
	t.Logf("HEDDLE_SEED=%d", n)
	return n
}

// prepare makes what networks stand on, and the callers with their containers.
func (s *storm) prepare() {
	for i := range 2 * len(terrains) {
		terrains[i%len(terrains)].prepare(s.t, i, nicPairs)
	}
	for i := range callersMany {
		c := &caller{storm: s, number: i, random: rand.New(rand.NewPCG(s.seed, uint64(i))), fates: map[heddle.EndpointID]fate{}}
		for p := range podsEach {
			cell.Netns(s.t, c.pod(p))
		}
		s.callers = append(s.callers, c)
	}
}

// calm makes a network of each mode that the storm leaves alone, with traffic.
func calm(t *testing.T, a *cell.Agent) (end func(a *cell.Agent)) {
	var ends []func()
	for number, g := range terrains {
		n := g.wish(number, nicPairs)
		n.Name = fmt.Sprint("net", number)
		_, _, err := a.CreateNetwork(ctx, n, false)
		cell.Must(t, err)
		if g.stack {
			first, second := fmt.Sprint("calm", number, "a"), fmt.Sprint("calm", number, "b")
			attach(t, a, number, first)
			ends = append(ends, startPing(t, first, attach(t, a, number, second)))
		}
	}
	return func(a *cell.Agent) {
		for _, end := range ends {
			end()
		}
		for number, g := range terrains {
			for _, side := range []string{"a", "b"} {
				if pod := fmt.Sprint("calm", number, side); g.stack {
					detach(t, a, pod)
					cell.Sh(t, "ip netns del %s", pod)
				}
			}
			cell.Must(t, a.DeleteNetwork(ctx, fmt.Sprint("net", number)))
		}
	}
}

// wild is a network that the storm creates and deletes.
func wild(number int) heddle.Network {
	n := terrains[number].wish(len(terrains)+number, nicPairs)
	n.Name = fmt.Sprint("wild", number)
	return n
}

// await lets that many operations go by.
func (s *storm) await(operations int64) {
	world.Within(s.t, 5*time.Minute, "the storm goes on", func() error {
		if done := s.operations.Load(); done < operations {
			return fmt.Errorf("it has died down: %d operations, not %d", done, operations)
		}
		return nil
	})
}

// promisesKept fails the test if an endpoint is there that was detached, or not
// there that was attached.
func (s *storm) promisesKept(a *cell.Agent) {
	all, err := a.Endpoints(ctx)
	cell.Must(s.t, err)
	there := map[heddle.EndpointID]string{}
	for _, e := range all {
		there[e.ID] = e.NetworkName
	}
	for _, c := range s.callers {
		for id, f := range c.fates {
			if is := there[id]; !f.unknown && is != f.network {
				s.t.Errorf("%s is on %q, and its caller was told %q", id, is, f.network)
			}
		}
	}
}

// clear takes away all that the storm has left.
func (s *storm) clear(a *cell.Agent) {
	all, err := a.Endpoints(ctx)
	cell.Must(s.t, err)
	for _, e := range all {
		if strings.HasPrefix(e.ID.Container, "storm") {
			_, err := a.Detach(ctx, e.ID)
			cell.Must(s.t, err)
		}
	}
	networks, err := a.Networks(ctx)
	cell.Must(s.t, err)
	for _, n := range networks {
		if strings.HasPrefix(n.Name, "wild") {
			cell.Must(s.t, a.DeleteNetwork(ctx, n.Name))
		}
	}
}
