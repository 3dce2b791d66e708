// Package random_test has agents do what comes, on the kernel in memory: containers come
// and go, networks too, agents are killed before any step, clocks jump, two clients call at
// once. Each history is compared with a simple model of who has what.
package random_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/heddle-network/heddle/test/soak"
)

// TestRandom is the small form: the same histories each time.
func TestRandom(t *testing.T) { histories(t, 1, "1", 12_000) }

// TestSoakRandom does a million operations, other ones each time.
func TestSoakRandom(t *testing.T) {
	soak.Need(t, "a million operations take a minute of two cores")
	histories(t, 2, "", 1_000_000)
}

// histories does so many operations, on each core some.
func histories(t *testing.T, cores int, seed string, operations int64) {
	if seed != "" && !given("rapid.seed") {
		flag.Set("rapid.seed", seed)
	}
	var done counts
	began := time.Now()
	t.Run("cores", func(t *testing.T) {
		for core := range cores {
			t.Run(fmt.Sprint(core), func(t *testing.T) {
				t.Parallel()
				for done.total() < operations && !t.Failed() {
					rapid.Check(bare{t}, func(rt *rapid.T) {
						if done.total() < operations || t.Failed() {
							inBubble(t, rt, &done)
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
func inBubble(t *testing.T, rt *rapid.T, done *counts) {
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
		w.history()
		over = true
	})
	if !over {
		if text := fmt.Sprint(stopped); !strings.HasPrefix(text, "invalid data") {
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

var operations = []operation{
	{"attach", 30, (*world).attach},
	{"attach again", 6, (*world).again},
	{"dry run", 3, (*world).dryRun},
	{"detach", 24, (*world).detach},
	{"detach nobody", 3, (*world).detachNobody},
	{"create", 5, (*world).create},
	{"delete", 4, (*world).delete},
	{"check", 4, (*world).check},
	{"begin container", 5, (*world).beginContainer},
	{"gc", 2, (*world).gc},
	{"clock", 2, (*world).jump},
	{"lose", 2, (*world).lose},
	{"at once", 6, (*world).atOnce},
	{"restart", 1, (*world).restart},
	{"crash", 3, (*world).crash},
}

// shuffled names each operation as often as it weighs. Rapid likes what comes first, so
// that is some of each.
var shuffled = func() (all []string) {
	for round := range 30 {
		for _, o := range operations {
			if o.weight*(round+1)/30 > o.weight*round/30 {
				all = append(all, o.name)
			}
		}
	}
	return all
}()

// counts are how often each was done.
type counts [32]atomic.Int64

func (c *counts) total() (n int64) {
	for i := range c {
		n += c[i].Load()
	}
	return n
}

func (c *counts) String() (s string) {
	for i, o := range operations {
		s += fmt.Sprintf("%s %d, ", o.name, c[i].Load())
	}
	return s
}

// history does some operations, and compares now and then.
func (w *world) history() {
	const longest = 300
	kind := rapid.SampledFrom(shuffled)
	for n := rapid.IntRange(1, longest).Draw(w.t, "length"); n > 0; n-- {
		name := kind.Draw(w.t, "operation")
		i := slices.IndexFunc(operations, func(o operation) bool { return o.name == name })
		w.done[i].Add(1)
		operations[i].do(w)
		if n%32 == 0 {
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
