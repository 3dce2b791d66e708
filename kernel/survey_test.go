package kernel

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// TestShared: those who wait for a search share the next one, and who comes once it has begun does not.
func TestShared(t *testing.T) {
	r := newRoom(t)
	const callers = 10
	joined := make(chan *survey)
	join := func() {
		v, err := r.k.surveys.join(r.k.home)
		if err != nil {
			t.Error(err)
		}
		joined <- v
	}
	waiting := func(n int) error {
		_, err := poll.Until(time.Minute, time.Millisecond, func() error {
			r.k.surveys.mu.Lock()
			defer r.k.surveys.mu.Unlock()
			if v := r.k.surveys.next; v == nil || v.users < n {
				return errors.New("not all wait yet")
			}
			return nil
		})
		return err
	}
	searching.Lock() // one is under way
	for range callers {
		go join()
	}
	cell.Must(t, waiting(callers))
	searching.Unlock()
	first := <-joined
	for range callers - 1 {
		if v := <-joined; v != first {
			t.Error("a caller who waited has a search of its own")
		}
	}
	go join()
	cell.Must(t, waiting(1))
	for range callers {
		select {
		case <-joined:
			t.Fatal("two searches at once")
		default:
		}
		r.k.surveys.leave(first)
	}
	late := <-joined
	if late == first {
		t.Error("who came later has an earlier search")
	}
	r.sh("ip link add lan0 type veth peer name wire0; ip link add link lan0 name mv0 netns " + r.pod + " type macvlan mode bridge")
	r.k.surveys.leave(late)
	last, err := r.k.surveys.join(r.k.home)
	cell.Must(t, err)
	defer r.k.surveys.leave(last)
	if !slices.ContainsFunc(last.uppers, func(u upper) bool { return u.name == "mv0" && u.cookie != 0 }) {
		t.Errorf("mv0 is not among %v", last.uppers)
	}
}

// TestGoneNeighbour: a neighbour that was found, and that has gone since, does not account for another
// device with its MAC address.
func TestGoneNeighbour(t *testing.T) {
	const mac heddle.MAC = "0a:00:00:00:00:07"
	r := newRoom(t)
	r.sh("ip link add lan0 type veth peer name wire0; ip link set lan0 up; ip link set wire0 up\n" +
		"ip link add link lan0 name mv0 netns " + r.pod + " address " + string(mac) + " type macvlan mode bridge; ip -n " + r.pod + " link set mv0 up")
	parent, err := r.k.listing().link("lan0")
	cell.Must(t, err)
	v, err := r.k.surveys.join(r.k.home)
	cell.Must(t, err)
	defer r.k.surveys.leave(v)
	up := stackedOn(v.uppers, r.k.home, parent.index)
	hidden := func() []heddle.MAC {
		all, err := r.k.hidden([]heddle.MAC{mac}, up, Tenure{Parent: "lan0"}, *parent)
		cell.Must(t, err)
		return all
	}
	if all := hidden(); len(up) != 1 || len(all) > 0 {
		t.Fatalf("%d devices were found, %v are hidden", len(up), all)
	}
	r.sh("ip -n " + r.pod + " link del mv0\nip link add link lan0 name mv1 address " + string(mac) + " type macvlan mode bridge; ip link set mv1 up")
	if all := hidden(); !slices.Equal(all, []heddle.MAC{mac}) {
		t.Errorf("%v are hidden", all)
	}
}
