package peer

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// road is a path for testing a track, with a clock of its own.
type road struct {
	carries int // bytes; 0: nothing comes back
	tells   bool
	loss    float64 // of each packet, in each direction
	rtt     time.Duration
}

type answer struct {
	at, sent  time.Time
	size, mtu int
}

type drive struct {
	*track
	road
	now     time.Time
	coming  []answer
	packets int
	changes []Path
	random  *rand.Rand
}

func newDrive(floor, most int, r road) *drive {
	now := time.Unix(1000, 0)
	return &drive{track: newTrack(now, floor, most, 0.5), road: r, now: now, random: rand.New(rand.NewSource(1))}
}

// run lets time pass, and returns how long it took until the path was as wanted
// (-1: never).
func (d *drive) run(length time.Duration, wanted func(Path) bool) time.Duration {
	begin, reached := d.now, time.Duration(-1)
	for end := d.now.Add(length); ; {
		slices.SortFunc(d.coming, func(a, b answer) int { return a.at.Compare(b.at) })
		next := d.due
		if len(d.coming) > 0 && d.coming[0].at.Before(next) {
			next = d.coming[0].at
		}
		if next.After(end) {
			d.now = end
			return reached
		}
		if next.After(d.now) {
			d.now = next
		}
		d.act()
		if reached < 0 && wanted != nil && wanted(d.path) {
			reached = d.now.Sub(begin)
		}
	}
}

func (d *drive) act() {
	old := d.path
	if len(d.coming) > 0 && !d.coming[0].at.After(d.now) {
		a := d.coming[0]
		d.coming = d.coming[1:]
		if a.mtu > 0 {
			d.onRouterLimit(d.now, a.mtu)
		} else {
			d.onReply(d.now, a.sent, a.size)
		}
	} else {
		for _, size := range d.step(d.now) {
			d.packets++
			d.send(size)
		}
	}
	if d.path.MTU != old.MTU || d.path.State != old.State {
		d.changes = append(d.changes, d.path)
	}
}

func (d *drive) send(size int) {
	back := answer{at: d.now.Add(d.rtt), sent: d.now, size: size}
	if size > d.carries {
		if !d.tells || d.carries == 0 {
			return
		}
		back.mtu = d.carries
	}
	for range 2 { // there and back
		if d.random.Float64() < d.loss {
			return
		}
	}
	d.coming = append(d.coming, back)
}

func is(mtu int) func(Path) bool {
	return func(p Path) bool { return p.State == Up && p.MTU == mtu }
}

func TestTrackFinds(t *testing.T) {
	for _, tells := range []bool{true, false} {
		for _, f := range heddle.Families() {
			for _, most := range []int{1500, 9000} {
				for _, carries := range []int{576, 1280, 1281, 1333, 1400, 1437, 1499, 1500, 8950, 8999, 9000} {
					if carries > most || carries < f.LeastMTU() {
						continue
					}
					name := fmt.Sprintf("told %v %v most %d carries %d", tells, f, most, carries)
					d := newDrive(f.LeastMTU(), most, road{carries: carries, tells: tells, rtt: time.Millisecond})
					if took := d.run(10*time.Second, is(carries)); took < 0 || took > 8*time.Second {
						t.Errorf("%s: %v, %+v", name, took, d.changes)
					}
					for _, c := range d.changes {
						if c.MTU > carries {
							t.Errorf("%s: it was taken for %d", name, c.MTU)
						}
					}
				}
			}
		}
	}
}

func TestTrackFollows(t *testing.T) {
	for _, tells := range []bool{true, false} {
		d := newDrive(576, 1500, road{carries: 1500, tells: tells, rtt: time.Millisecond})
		d.run(30*time.Second, nil)
		if !is(1500)(d.path) {
			t.Fatalf("%+v", d.path)
		}
		d.carries = 1400
		if took := d.run(20*time.Second, is(1400)); took < 0 || took > 8*time.Second {
			t.Errorf("told %v: smaller after %v: %+v", tells, took, d.changes)
		}
		d.carries = 1480
		if took := d.run(100*time.Second, is(1480)); took < 0 || took > 70*time.Second {
			t.Errorf("told %v: larger after %v: %+v", tells, took, d.changes)
		}
	}
}

// TestTrackInterface follows the MTU of the interfaces at both ends at once.
func TestTrackInterface(t *testing.T) {
	d := newDrive(576, 1500, road{carries: 9000, rtt: time.Millisecond})
	d.run(10*time.Second, nil)
	d.setMaxMTU(d.now, 1300)
	if d.path.MTU != 1300 {
		t.Errorf("%+v", d.path)
	}
	d.run(10*time.Second, nil)
	d.setMaxMTU(d.now, 9000)
	if took := d.run(10*time.Second, is(9000)); took < 0 || took > time.Second {
		t.Errorf("larger after %v: %+v", took, d.path)
	}
}

func TestTrackSilent(t *testing.T) {
	d := newDrive(576, 1500, road{rtt: time.Millisecond})
	d.run(10*time.Second, nil)
	if d.path.State != Silent || d.path.MTU != 0 {
		t.Fatalf("%+v", d.path)
	}
	d.carries = 1450
	if took := d.run(20*time.Second, is(1450)); took < 0 {
		t.Fatalf("%+v", d.path)
	}
	d.carries = 0
	d.run(20*time.Second, nil)
	if d.path.State != Silent || d.path.MTU != 1450 {
		t.Fatalf("silent: %+v", d.path)
	}
	d.carries = 1500
	if took := d.run(100*time.Second, is(1500)); took < 0 {
		t.Fatalf("back: %+v", d.path)
	}
}

// TestTrackLoss: a path that loses packets keeps its MTU.
func TestTrackLoss(t *testing.T) {
	for _, loss := range []float64{0.02, 0.1, 0.25} {
		d := newDrive(576, 1500, road{carries: 1500, rtt: 5 * time.Millisecond, loss: loss})
		d.run(20*time.Second, nil)
		d.changes = nil
		d.run(time.Hour, nil)
		lower := 0
		for _, c := range d.changes {
			if c.MTU < 1500 {
				lower++
			}
		}
		if lower > 0 && loss <= 0.1 || lower > 5 {
			t.Errorf("loss %v: lowered %d times in an hour: %+v", loss, lower, d.changes)
		}
	}
}

// TestTrackThrift counts the packets when all is well.
func TestTrackThrift(t *testing.T) {
	for _, carries := range []int{1500, 1400} {
		d := newDrive(576, 1500, road{carries: carries, rtt: time.Millisecond})
		d.every = 200 * time.Second
		d.run(time.Minute, nil)
		d.packets = 0
		d.run(10*time.Hour, nil)
		if most := 2*10*3600/200 + 2; d.packets > most {
			t.Errorf("carries %d: %d packets, more than %d", carries, d.packets, most)
		}
	}
}

func TestBetween(t *testing.T) {
	for lo := 576; lo < 9200; lo += 13 {
		for _, hi := range []int{lo + 2, lo + 3, lo + 9, lo + 40, lo + 700} {
			some := sizesBetween(lo, hi)
			if len(some) == 0 || !slices.IsSorted(some) || some[0] <= lo || some[len(some)-1] >= hi {
				t.Fatalf("between(%d, %d): %v", lo, hi, some)
			}
		}
	}
}
