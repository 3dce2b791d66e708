package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// TestFoundDown: a device that was down when it was found, and is up soon after, is not hidden. A
// device that stays down does not account for another one with its MAC address.
func TestFoundDown(t *testing.T) {
	const mac heddle.MAC = "0a:00:00:00:00:07"
	for name, row := range map[string]struct {
		rises  bool
		hidden []heddle.MAC
	}{"up soon": {true, nil}, "down": {false, []heddle.MAC{mac}}} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.sh("ip link add lan0 type veth peer name wire0; ip link set lan0 up; ip link set wire0 up\n" +
				"ip link add link lan0 name mv0 netns " + r.pod + " address " + string(mac) + " type macvlan mode bridge")
			parent, err := r.k.listing().link("lan0")
			cell.Must(t, err)
			tenure := Tenure{Parent: "lan0", MAC: "0a:00:00:00:00:08", Known: func(uint64, int) bool { return true }}
			found, err := r.k.evict(tenure, *parent, nil, false, []heddle.MAC{mac})
			cell.Must(t, err)
			defer closeAll(found.down)
			if len(found.hidden) > 0 || len(found.down) != 1 {
				t.Fatalf("%v are hidden, %d devices are down", found.hidden, len(found.down))
			}
			if row.rises {
				time.AfterFunc(50*time.Millisecond, func() { r.sh("ip -n " + r.pod + " link set mv0 up") })
			}
			if got := awaitUp([]heddle.MAC{mac}, found.down); !slices.Equal(got, row.hidden) {
				t.Errorf("%v are hidden, not %v", got, row.hidden)
			}
		})
	}
}

// TestGoneWhileLooking: a neighbour's device that goes between its listing and the reading of its addresses is
// no error. The search looks once more, and finds it nowhere.
func TestGoneWhileLooking(t *testing.T) {
	r := newRoom(t)
	other := newNetns(t, "other")
	r.sh("ip link add lan0 type veth peer name wire0; ip link set lan0 up; ip link set wire0 up\n" +
		"ip link add link lan0 name mv0 netns " + other + " type macvlan mode bridge; ip -n " + other + " link set mv0 up")
	looks := 0
	tenure := Tenure{Parent: "lan0", MAC: "0a:00:00:00:00:08", Known: func(uint64, int) bool {
		if looks++; looks == 1 {
			r.sh("ip -n " + other + " link del mv0")
		}
		return false
	}}
	if err := r.k.Evict(tenure, r.podNS); err != nil || looks != 1 {
		t.Errorf("after %d looks: %v", looks, err)
	}
}

// TestSoonKnown: a device that comes to where the container has a way, while it is detached, may be that of an endpoint
// whose attach has not ended. It is waited for; one that nobody knows is in the way.
func TestSoonKnown(t *testing.T) {
	for name, never := range map[string]bool{"soon": false, "never": true} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			other := newNetns(t, "other")
			r.sh("ip -n " + r.pod + " netns set " + other + " 7\nip link add lan0 type veth peer name wire0; ip link set lan0 up; ip link set wire0 up\n" +
				"ip link add link lan0 name mv0 netns " + other + " type macvlan mode bridge; ip -n " + other + " link set mv0 up")
			var asked int
			err := inTime(never, upTime, func() error {
				asked = 0
				return r.k.Evict(Tenure{Parent: "lan0", MAC: "0a:00:00:00:00:08", Known: func(uint64, int) bool {
					asked++
					return asked > 3 && !never
				}}, r.podNS)
			})
			if never != quarantines(err) || !never && err != nil {
				t.Errorf("asked %d times: %v", asked, err)
			}
		})
	}
}

// TestNeighbourEnds: what a parent listens to for a device that cannot be found may be of a neighbour whose namespace is
// ending. It is waited for; one that stays is in hiding.
func TestNeighbourEnds(t *testing.T) {
	for name, stays := range map[string]bool{"ends": false, "stays": true} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			other := newNetns(t, "other")
			r.sh("ip link add lan0 type veth peer name wire0; ip link set lan0 up; ip link set wire0 up\n" +
				"ip link add link lan0 name mv0 netns " + other + " type macvlan mode bridge; ip -n " + other + " link set mv0 up")
			end := hide(t, other)
			if stays {
				defer end()
			} else {
				time.AfterFunc(300*time.Millisecond, end)
			}
			err := inTime(stays, EndTime, func() error {
				return r.k.Evict(Tenure{Parent: "lan0", MAC: "0a:00:00:00:00:08", Known: func(uint64, int) bool { return false }}, r.podNS)
			})
			if stays != quarantines(err) || !stays && err != nil {
				t.Error(err)
			}
		})
	}
}

// inTime tries again what ended in quarantine, and was not to, after it had waited for so long: this machine, or its
// kernel, may be busy.
func inTime(quarantine bool, waits time.Duration, evict func() error) (err error) {
	for range 3 {
		begun := time.Now()
		if err = evict(); quarantine || !quarantines(err) || time.Since(begun) < waits {
			break
		}
	}
	return err
}

func quarantines(err error) bool { return errors.Is(err, heddle.Quarantined.Sentinel()) }

// hide keeps a namespace where no search finds it, in a message that nobody has read, until the function is called.
func hide(t *testing.T, netns string) (end func()) {
	t.Helper()
	path := filepath.Join(netnsDir, netns)
	f, err := os.Open(path)
	cell.Must(t, err)
	defer f.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	cell.Must(t, err)
	cell.Must(t, unix.Sendmsg(pair[0], []byte("x"), unix.UnixRights(int(f.Fd())), nil, 0))
	cell.Must(t, unix.Unmount(path, unix.MNT_DETACH))
	return func() {
		unix.Close(pair[0])
		unix.Close(pair[1])
	}
}
