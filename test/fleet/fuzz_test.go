package fleet_test

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/ipam"
	"github.com/heddle-network/heddle/test/forge"
	"github.com/heddle-network/heddle/test/poll"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

const (
	// fuzzSeed makes a run what it was before; HEDDLE_SEED gives another.
	fuzzSeed = 20260
	// fuzzTime is how long records are written, soakTime where there is time.
	fuzzTime = 12 * time.Second
	soakTime = 10 * time.Minute
	// late is what the fuzzer may add to what the same takes without it.
	late = 2 * time.Second
	// pace is the least time between two attaches on a host. Each takes an address of
	// the host's block, which rests for a minute when it is freed: at a higher pace the 62
	// run out, and the host takes a block more, which is not as before.
	pace = ipam.Quarantine / 48
)

// givenBack is how long a host may keep a block that the fuzzer wrote in its name: it
// takes it up and uses it. Its addresses rest for a minute when they are freed, and a
// minute later it is given back.
var givenBack = world.RepairTime + 2*ipam.Quarantine

// TestFuzzedRecords writes records at random, as a host that was taken over, while the
// two others attach, detach and put back what is flushed. Each of these is measured, and
// none is later than the slowest one without the fuzzer by more than two seconds. What
// the machine does meanwhile is not known, so it fails if that is so twice. When the
// records are away, the hosts have what they had.
func TestFuzzedRecords(t *testing.T) {
	soak.Turn(t, 1)
	newTaken(t).fuzzed(t, fuzzTime, 2)
}

// TestSoakFuzzedRecords does so for ten minutes, on a quiet machine.
func TestSoakFuzzedRecords(t *testing.T) {
	soak.Need(t, "ten minutes, with a limit of time for a quiet machine")
	newTaken(t).fuzzed(t, soakTime, 1)
}

// fuzzed has the hosts work with and without the fuzzer, so many times at most.
func (k *taken) fuzzed(t *testing.T, lasts time.Duration, times int) {
	t.Helper()
	seed := uint64(fuzzSeed)
	if s := os.Getenv("HEDDLE_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(seed, 0))
	k.aside(t)
	records, before := k.records(t), k.states(t)
	for i := range times {
		without := k.work(t, fuzzTime/2, func(<-chan struct{}) {})
		var written []string
		with := k.work(t, lasts, func(end <-chan struct{}) { written = k.fuzz(t, r, end) })
		t.Logf("seed %d: %d changes of records; slowest without them %v, with them %v", seed, len(written), without, with)
		if len(written) < int(lasts/time.Second) {
			t.Errorf("%d changes in %v: that is no fuzzer", len(written), lasts)
		}
		k.restore(t, i, records, before, written)
		what := with.longer(without)
		if what == "" || t.Failed() {
			return
		}
		t.Logf("%s is late", what)
	}
	t.Errorf("late in %d of %[1]d measurements", times)
}

// records are all that the forger may read.
func (k *taken) records(t *testing.T) map[string]forge.Record {
	t.Helper()
	found, err := k.Below("/heddle/")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]forge.Record{}
	for _, r := range found {
		all[r.Key] = r
	}
	return all
}

// restore takes away what was written, and has the hosts be as they were.
func (k *taken) restore(t *testing.T, i int, records map[string]forge.Record, before map[*host]string, written []string) {
	t.Helper()
	slices.Sort(written)
	for _, key := range slices.Compact(written) {
		var err error
		if r, was := records[key]; was {
			if key == "/heddle/hosts/"+k.book.name+"/self" {
				err = k.Delete(key) // a record over one of another id is not taken on
			}
			err = errors.Join(err, k.Write(r))
		} else {
			err = k.Delete(key)
		}
		if err != nil {
			t.Fatalf("%s: %v", key, err)
		}
	}
	name, marker := k.marker(i)
	if err := k.Write(marker); err != nil {
		t.Fatal(err)
	}
	for _, h := range k.survivors() {
		began := time.Now()
		settled(t, h, name)
		read := time.Since(began)
		took := world.Within(t, givenBack, "without the records, "+h.Host.Name+" is as before", func() error {
			now, err := state(h)
			if err != nil {
				return err
			}
			moved, err := k.moved(before)
			if err != nil {
				return err
			}
			if was, is := but(before[h], nil), but(now, moved); is != was {
				return fmt.Errorf("before:\n%s\nafter them:\n%s", was, is)
			}
			return nil
		})
		t.Logf("%s had read the end of them after %v, and was as before %v later", h.Host.Name, read.Round(time.Millisecond), took.Round(time.Millisecond))
	}
	if err := k.Delete(marker.Key); err != nil {
		t.Fatal(err)
	}
}

// ownAddress is the address by which a host sends to the others' containers.
var ownAddress = regexp.MustCompile(` src (\S+)`)

// moved are the blocks in which the survivors have addresses of their own that they had
// not before. A host whose block the fuzzer has taken for a time (docs/security.md) had to
// take them from another one, which it keeps for that.
func (k *taken) moved(before map[*host]string) (all []netip.Prefix, err error) {
	for _, h := range k.survivors() {
		now, err := state(h)
		if err != nil {
			return nil, err
		}
		for _, m := range ownAddress.FindAllStringSubmatch(now, -1) {
			a, err := netip.ParseAddr(m[1])
			if err != nil {
				return nil, err
			}
			subnet := netip.MustParsePrefix("fd10::/64")
			if a.Is4() {
				subnet = netip.MustParsePrefix("10.10.0.0/16")
			}
			if b := heddle.BlockOf(subnet, a); !strings.Contains(before[h], m[0]+" ") && !slices.Contains(all, b) {
				all = append(all, b)
			}
		}
	}
	return all, nil
}

// but is a host's state but for the hosts' own addresses, and for the routes to the blocks
// and the origins of these.
func but(state string, blocks []netip.Prefix) string {
	state = ownAddress.ReplaceAllString(state, " src own")
	for _, b := range blocks {
		first, last := b.Addr().AsSlice(), heddle.LastAddr(b).AsSlice()
		origin := fmt.Sprintf(`[0-9.]+\.0x%x-0x%x`, new(big.Int).SetBytes(first), new(big.Int).SetBytes(last))
		state = regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(b.String())+` via .*\n|`+origin+`,|,`+origin).ReplaceAllString(state, "")
	}
	return state
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
				next := time.Now().Add(pace)
				for what, took := range h.day(t, fmt.Sprintf("f%d-%d", i, n%8)) {
					mu.Lock()
					found[what] = max(found[what], took)
					mu.Unlock()
				}
				time.Sleep(time.Until(next))
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
		_, err := poll.Until(time.Minute, 20*time.Millisecond, func() error {
			if out, err := h.TrySh("nft list chain inet heddle guard-tunnel"); err != nil || strings.Count(out, "\n") <= 4 {
				return fmt.Errorf("the chain stays empty: %v\n%s", err, out)
			}
			return nil
		})
		return err
	})
	measure("detach", func() error { _, err := h.tryCLI(t, "detach", p.ID.Container); return err })
	return took
}

// fuzz writes and deletes records until it is told to end, and returns their keys, one for
// each change.
func (k *taken) fuzz(t *testing.T, r *rand.Rand, end <-chan struct{}) (written []string) {
	all := allMalformed(k.book)
	known := []string{}
	for {
		select {
		case <-end:
			return written
		case <-time.After(20 * time.Millisecond):
		}
		var key string
		var err error
		if len(known) > 0 && r.IntN(4) == 0 {
			key = known[r.IntN(len(known))]
			err = k.Delete(key)
		} else {
			m := all[r.IntN(len(all))]
			record := forge.Text(k.rename(r, m.key), spoil(r, m.value))
			if key = record.Key; key != m.key || !strings.HasSuffix(m.key, "/app") {
				known = append(known, key)
			}
			err = k.Write(record)
		}
		if err != nil {
			t.Errorf("the store does not take a record: %v", err)
			return written
		}
		written = append(written, key)
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
