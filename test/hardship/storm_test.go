package hardship_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/test/cell"
)

// storm is a crowd of callers that attach and detach while the agent is killed
// again and again.
type storm struct {
	t          *testing.T
	socket     string
	done       atomic.Bool
	operations atomic.Int64
	workers    sync.WaitGroup
}

const workers, podsEach = 4, 3

// TestRestartStorm: thirty kills, four callers, not a packet lost.
func TestRestartStorm(t *testing.T) {
	cell.Need(t)
	rage(t, func(restarts int, _ int64) bool { return restarts < 30 })
}

// TestSoakStorm is the full scale: 10,000 operations, killed every 20 to 50.
func TestSoakStorm(t *testing.T) {
	cell.Need(t)
	if os.Getenv("HEDDLE_SOAK") != "1" {
		t.Skip("set HEDDLE_SOAK=1 for the full scale (minutes)")
	}
	rage(t, func(_ int, operations int64) bool { return operations < 10000 })
}

// rage keeps the storm going while more says so.
func rage(t *testing.T, more func(restarts int, operations int64) bool) {
	dir := folder(t)
	a := cell.Start(t, dir)
	var ends []func()
	for number, mode := range []string{"bridge", "routed"} {
		createNetwork(t, a, mode, number)
		first, second := fmt.Sprint("calm", number, "a"), fmt.Sprint("calm", number, "b")
		attach(t, a, number, first)
		ends = append(ends, startPing(t, first, attach(t, a, number, second)))
	}
	s := &storm{t: t, socket: a.Socket}
	for w := range workers {
		for p := range podsEach {
			cell.Netns(t, podName(w, p))
		}
		s.workers.Go(func() { s.work(w) })
	}
	r := rand.New(rand.NewPCG(7, 11))
	restarts := 0
	for ; more(restarts, s.operations.Load()); restarts++ {
		s.await(s.operations.Load() + 20 + r.Int64N(31))
		a.Kill()
		a = cell.Start(t, dir)
	}
	s.done.Store(true)
	s.workers.Wait()
	t.Logf("%d operations, %d restarts", s.operations.Load(), restarts)
	a.AuditEmpty(t)
	for w := range workers {
		for p := range podsEach {
			_, err := a.Detach(ctx, endpointID(podName(w, p)))
			must(t, err)
		}
	}
	a.AuditEmpty(t)
	wantEndpoints(t, a, 4)
	for _, end := range ends {
		end()
	}
}

func podName(worker, pod int) string { return fmt.Sprintf("storm%d-%d", worker, pod) }

// await lets that many operations go by.
func (s *storm) await(operations int64) {
	for range 2000 {
		if s.operations.Load() >= operations {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	s.t.Error("the storm has died down: no operations for ten seconds")
}

// work attaches and detaches at random. An agent that is away is the only
// excuse for an error.
func (s *storm) work(worker int) {
	a := &cell.Agent{Client: client.New(s.socket)}
	r := rand.New(rand.NewPCG(uint64(worker), 13))
	for !s.done.Load() {
		pod := podName(worker, r.IntN(podsEach))
		var err error
		if r.IntN(2) == 0 {
			_, err = tryAttach(a, r.IntN(2), pod)
		} else {
			_, err = a.Detach(ctx, endpointID(pod))
		}
		switch known := (*heddle.Error)(nil); {
		case err == nil:
			s.operations.Add(1)
		case errors.As(err, &known) && known.Kind == heddle.Unreachable, strings.Contains(err.Error(), "EOF"):
			time.Sleep(5 * time.Millisecond)
		case errors.As(err, &known) && known.Code == heddle.EndpointDiffers:
			// it is on the other network since before
		default:
			s.t.Errorf("%s: %v", pod, err)
			time.Sleep(10 * time.Millisecond)
		}
	}
}
