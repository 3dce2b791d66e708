package fleet_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/forge"
)

const (
	// fuzzSeed makes a run what it was before; HEDDLE_SEED gives another.
	fuzzSeed = 20260
	// fuzzTime is how long records are written; with HEDDLE_SOAK ten minutes.
	fuzzTime = 12 * time.Second
	soakTime = 10 * time.Minute
	// late is what the fuzzer may add to what the same takes without it.
	late = 2 * time.Second
)

// TestFuzzedRecords writes records at random, as a host that was taken over, while the
// two others attach, detach and put back what is flushed. Each of these is measured, and
// none is later than the slowest one without the fuzzer by more than two seconds. What
// the machine does meanwhile is not known, so a late one is held against a second
// measurement without the fuzzer, right after.
func TestFuzzedRecords(t *testing.T) {
	k := newTaken(t)
	lasts := fuzzTime
	if os.Getenv("HEDDLE_SOAK") != "" {
		lasts = soakTime
	}
	seed := uint64(fuzzSeed)
	if s := os.Getenv("HEDDLE_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed); err != nil {
			t.Fatal(err)
		}
	}
	without := k.work(t, fuzzTime/2, func(<-chan struct{}) {})
	written := 0
	with := k.work(t, lasts, func(end <-chan struct{}) { written = k.fuzz(t, seed, end) })
	t.Logf("seed %d: %d changes of records; slowest without them %v, with them %v", seed, written, without, with)
	if written < int(lasts/time.Second) {
		t.Errorf("%d changes in %v: that is no fuzzer", written, lasts)
	}
	if with.longer(without) != "" {
		again := k.work(t, fuzzTime, func(<-chan struct{}) {})
		t.Logf("measured again without them: %v", again)
		if what := with.longer(again.max(without)); what != "" {
			t.Errorf("%s is late: without the fuzzer %v, and again %v; with it %v", what, without, again, with)
		}
	}
}

// slowest is the longest time that each kind of operation took.
type slowest map[string]time.Duration

func (s slowest) String() string {
	var all []string
	for _, what := range []string{"attach", "detach", "repair"} {
		all = append(all, fmt.Sprintf("%s %v", what, s[what].Round(time.Millisecond)))
	}
	return strings.Join(all, ", ")
}

func (s slowest) longer(than slowest) string {
	for what, took := range s {
		if took > than[what]+late {
			return what
		}
	}
	return ""
}

func (s slowest) max(o slowest) slowest {
	all := slowest{}
	for what := range s {
		all[what] = max(s[what], o[what])
	}
	return all
}

// work has the two hosts do what hosts do, beside something, and measures it.
func (k *taken) work(t *testing.T, lasts time.Duration, beside func(end <-chan struct{})) slowest {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	found, end := slowest{}, make(chan struct{})
	all.Go(func() { beside(end) })
	stop := time.Now().Add(lasts)
	var hosts sync.WaitGroup
	for i, h := range k.survivors() {
		hosts.Go(func() {
			for n := 0; time.Now().Before(stop) && !t.Failed(); n++ {
				for what, took := range h.day(t, fmt.Sprintf("f%d-%d", i, n%8)) {
					mu.Lock()
					found[what] = max(found[what], took)
					mu.Unlock()
				}
			}
		})
	}
	hosts.Wait()
	close(end)
	all.Wait()
	return found
}

// day is an attach, a repair and a detach.
func (h *host) day(t *testing.T, name string) slowest {
	took := slowest{}
	measure := func(what string, do func() error) {
		began := time.Now()
		if err := do(); err != nil {
			t.Errorf("%s of %s on %s: %v\n%s", what, name, h.Host.Name, err, h.log())
		}
		took[what] = time.Since(began)
	}
	var p *pod
	measure("attach", func() (err error) { p, err = h.tryAttach(name, "app"); return err })
	if t.Failed() {
		return took
	}
	measure("repair", func() error {
		if _, err := h.TrySh("nft flush chain inet heddle guard-tunnel"); err != nil {
			return err
		}
		for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(20 * time.Millisecond) {
			if out, err := h.TrySh("nft list chain inet heddle guard-tunnel"); err == nil && strings.Count(out, "\n") > 4 {
				return nil
			}
		}
		return errors.New("the chain stays empty")
	})
	measure("detach", func() error { _, err := h.tryCLI(t, "detach", p.ID.Container); return err })
	return took
}

// fuzz writes and deletes records until it is told to end, and returns how many.
func (k *taken) fuzz(t *testing.T, seed uint64, end <-chan struct{}) (written int) {
	r := rand.New(rand.NewPCG(seed, 0))
	all := allMalformed(k.book)
	known := []string{}
	for {
		select {
		case <-end:
			return written
		case <-time.After(20 * time.Millisecond):
		}
		var err error
		if len(known) > 0 && r.IntN(4) == 0 {
			err = k.Delete(known[r.IntN(len(known))])
		} else {
			m := all[r.IntN(len(all))]
			record := forge.Text(k.rename(r, m.key), spoil(r, m.value))
			if record.Key != m.key || !strings.HasSuffix(m.key, "/app") {
				known = append(known, record.Key)
			}
			err = k.Write(record)
		}
		if err != nil {
			t.Errorf("the store does not take a record: %v", err)
			return written
		}
		written++
	}
}

// rename gives a record, now and then, a key of another kind or name.
func (k *taken) rename(r *rand.Rand, key string) string {
	own := "/heddle/hosts/" + k.book.name + "/"
	switch r.IntN(6) {
	case 0:
		return fmt.Sprintf("/heddle/networks/n%d", r.IntN(40))
	case 1:
		return fmt.Sprintf("/heddle/blocks/%s/10.10.%d.%d/26", k.book.networkID, 128+r.IntN(128), r.IntN(4)*64)
	case 2:
		kind := []string{"pins", "wants"}[r.IntN(2)]
		return fmt.Sprintf("%s%s/%s/10.10.%d.%d", own, kind, k.book.networkID, 128+r.IntN(128), r.IntN(256))
	case 3:
		return own + "self"
	}
	return key
}

// spoil changes a text here and there: bytes, numbers, and what stands between brackets.
func spoil(r *rand.Rand, text string) string {
	b := []byte(text)
	for range r.IntN(4) {
		if len(b) == 0 {
			return "{}"
		}
		at := r.IntN(len(b))
		switch r.IntN(4) {
		case 0:
			b[at] ^= 1 << r.IntN(8)
		case 1:
			b = append(b[:at:at], b[min(len(b), at+1+r.IntN(8)):]...)
		case 2:
			b = append(b[:at:at], append([]byte(words[r.IntN(len(words))]), b[at:]...)...)
		case 3:
			from := r.IntN(len(b))
			b = append(b[:at:at], append([]byte(string(b[from:min(len(b), from+r.IntN(64))])), b[at:]...)...)
		}
	}
	return string(b)
}

var words = []string{"0", "-1", "99999999999999999999", "null", "{}", "[]", `""`, `"\u0000"`, `"0.0.0.0/0"`, `"::/0"`, `"224.0.0.1"`, "true", "\x1b[2J", `,"id":"0000000000000000"`}
