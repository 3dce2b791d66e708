package link

import (
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/bpf"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/impair"
)

// taken takes numbered frames from a relay.
type taken struct {
	numbers []byte
	each    chan struct{}
}

func (w *taken) Write(b []byte) (int, error) {
	w.numbers = append(w.numbers, b[len(b)-1])
	w.each <- struct{}{}
	return len(b), nil
}

// through says which of 200 frames get through a relay.
func through(r *impair.Relay) []byte {
	for i := range 200 {
		r.Pass(append(make([]byte, impair.HeaderSize+60), byte(i)), time.Now())
	}
	done := r.Counted()
	w := &taken{each: make(chan struct{})}
	go r.Write(w)
	for range done.Frames - done.Lost {
		<-w.each
	}
	r.Close()
	return w.numbers
}

// TestSeed: the same seed loses the same frames of a user, each way. Another seed, another user, and the other direction have
// decisions of their own.
func TestSeed(t *testing.T) {
	l := &Links{}
	as := scenario.Link{Impairment: impair.Impairment{Loss: 0.5}}
	of := func(seed uint64, user int) [2]string {
		both := l.pair(user)
		both.set(as, seed)
		return [2]string{string(through(both.out)), string(through(both.in))}
	}
	first := of(7, 1)
	if again := of(7, 1); again != first {
		t.Errorf("the same seed: %q, and then %q", first, again)
	}
	all := []string{first[0], first[1]}
	for _, other := range [][2]string{of(8, 1), of(7, 2)} {
		all = append(all, other[0], other[1])
	}
	slices.Sort(all)
	if got := len(slices.Compact(all)); got != 6 {
		t.Errorf("of six directions, %d have decisions of their own", got)
	}
}

// TestDivide: a frame that cannot be read is counted, and those behind it pass, each its way.
func TestDivide(t *testing.T) {
	var l Links
	both := l.pair(1)
	out, in := both.out, both.in
	sent, received := make([]byte, impair.HeaderSize+60), make([]byte, impair.HeaderSize+60)
	sent[impair.HeaderSize+bpf.GroupByte] = bpf.GroupBit
	next := []struct {
		frame []byte
		err   error
	}{{sent, nil}, {nil, os.NewSyscallError("recvmsg", unix.EINVAL)}, {nil, nil}, {received, nil}, {received, nil}, {nil, os.ErrClosed}}
	l.divide(func() ([]byte, time.Time, error) {
		one := next[0]
		next = next[1:]
		return one.frame, time.Now(), one.err
	}, out, in)
	if o, i, c := out.Counted(), in.Counted(), l.Counted(); o.Frames != 1 || i.Frames != 2 || c.Missed != 1 {
		t.Errorf("out %d, in %d, missed %d", o.Frames, i.Frames, c.Missed)
	}
}
