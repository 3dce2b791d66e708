// Package random_test has agents do what comes, on the kernel in memory: containers come
// and go, networks too, agents are killed before any step, clocks jump, two clients call at
// once. Each history is compared with a simple model of who has what.
package random_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/heddle-network/heddle/test/soak"
)

// form is how much is done, and of what.
type form struct {
	operations int64
	// cores is how many histories there are at a time, longest how many operations are in
	// one.
	cores, longest int
	// lives weighs what begins a life of the agent's, compare is after how many operations
	// all is compared besides.
	lives, compare int
	seed           string
}

// TestRandom is the small form: the same histories each time, with many lives.
func TestRandom(t *testing.T) {
	histories(t, form{operations: 8_000, cores: 1, longest: 300, lives: 30, compare: 32, seed: "5"})
}

// TestSoakRandom does a million operations, other ones each time.
func TestSoakRandom(t *testing.T) {
	soak.Need(t, "a million operations take a minute of two cores")
	histories(t, form{operations: 1_000_000, cores: 2, longest: 4000, lives: 1, compare: 500})
}

// histories does so many operations, on each core some.
func histories(t *testing.T, f form) {
	if f.seed != "" && !given("rapid.seed") {
		flag.Set("rapid.seed", f.seed)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(1600)) // little of it lives long
	var done counts
	began := time.Now()
	t.Run("cores", func(t *testing.T) {
		for core := range f.cores {
			t.Run(fmt.Sprint(core), func(t *testing.T) {
				t.Parallel()
				for done.total() < f.operations && !t.Failed() {
					rapid.Check(bare{t}, func(rt *rapid.T) {
						if done.total() < f.operations || t.Failed() {
							inBubble(t, rt, f, &done)
						}
					})
				}
			})
		}
	})
	t.Logf("%d operations in %.1f s, of which processors worked %.1f s: %s", done.total(), time.Since(began).Seconds(), processors(t), &done)
}

// processors is how long processors have worked for this process, in seconds.
func processors(t *testing.T) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// bare hides what a bubble does not have from rapid.
type bare struct{ testing.TB }

func given(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// inBubble runs one history in a time of its own, which stands still while anything is
// done. What stops the history is passed on outside.
func inBubble(t *testing.T, rt *rapid.T, f form, done *counts) {
	var stopped any
	over := false
	synctest.Test(t, func(*testing.T) {
		w := newWorld(rt, done)
		defer func() {
			if !over {
				stopped = recover()
			}
			w.end()
		}()
		w.history(f)
		over = true
	})
	if !over {
		if text := fmt.Sprint(stopped); text != "overrun" {
			t.Logf("after %d operations: %s", done.total(), text) // two clients at once are not shrunk reliably
		}
		panic(stopped)
	}
}

// An operation is one call of an agent, one of its lives, one jump of the clock, or one
// thing that happens to a container or to the host beside the agent.
type operation struct {
	name   string
	weight int
	do     func(*world)
}

// Of a thousand, so many are of each kind.
var operations = []operation{
	{"attach", 334, (*world).attach},
	{"attach again", 80, (*world).again},
	{"dry run", 30, (*world).dryRun},
	{"detach", 300, (*world).detach},
	{"detach nobody", 40, (*world).detachNobody},
	{"create", 40, (*world).create},
	{"delete", 20, (*world).delete},
	{"check", 60, (*world).check},
	{"begin container", 30, (*world).beginContainer},
	{"gc", 8, (*world).gc},
	{"clock", 8, (*world).jump},
	{"lose", 8, (*world).lose},
	{"at once", 40, (*world).atOnce},
	{"refuse", 1, (*world).refuse},
	{"restart", 1, (*world).restart},
	{"crash", 1, (*world).crash},
}

// table has each operation's number as often as it weighs.
func (f form) table() (all []int) {
	for i, o := range operations {
		n := o.weight
		if o.name == "refuse" || o.name == "restart" || o.name == "crash" {
			n *= f.lives
		}
		for range n {
			all = append(all, i)
		}
	}
	return all
}

// counts are how often each was done.
type counts struct {
	each [32]atomic.Int64
	// besides are the calls of the second client, and those that may be killed.
	besides atomic.Int64
	// refused are the attaches that were refused.
	refused atomic.Int64
	// passedOn are the default routes that the patrol passed on after a refusal.
	passedOn atomic.Int64
}

func (c *counts) total() int64 {
	n := c.besides.Load()
	for i := range c.each {
		n += c.each[i].Load()
	}
	return n
}

func (c *counts) String() (s string) {
	for i, o := range operations {
		s += fmt.Sprintf("%s %d, ", o.name, c.each[i].Load())
	}
	return s + fmt.Sprintf("calls that may be killed and of second clients %d; of the attaches %d were refused; %d default routes were passed on by the patrol", c.besides.Load(), c.refused.Load(), c.passedOn.Load())
}

// history does some operations, and compares now and then.
func (w *world) history(f form) {
	table, seed := f.table(), rapid.Uint64()
	for n := rapid.IntRange(f.longest/10, f.longest).Draw(w.t, "length"); n > 0; n-- {
		// rapid likes small numbers: with its place, one means something else each time
		w.rand = rand.New(rand.NewPCG(seed.Draw(w.t, "operation"), uint64(n)))
		i := oneOf(w, table)
		w.t.Logf("%s", operations[i].name)
		w.done.each[i].Add(1)
		operations[i].do(w)
		if n%f.compare == 0 {
			w.compare()
		}
	}
	w.compare()
}

// folder is a file system in memory, if there is one: a ledger is synced to the disk.
func folder() string {
	for _, at := range []string{"/dev/shm", os.TempDir()} {
		if dir, err := os.MkdirTemp(at, "heddle-random-"); err == nil {
			return dir
		}
	}
	return ""
}
