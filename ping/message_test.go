package ping

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"github.com/heddle-network/heddle"
)

var to4, to6, router = addr("10.1.0.3"), addr("fd01::3"), addr("10.1.0.1")

// answer is the reply to a request.
func answer(request []byte) []byte {
	b := bytes.Clone(request)
	b[0] = map[byte]byte{8: 0, 128: 129}[b[0]]
	return b
}

// about is an error about a request to an address, which quotes so many bytes behind the IP header.
func about(kind, code byte, mtu uint16, request []byte, to netip.Addr, quoted int) []byte {
	head := make([]byte, ipv6.HeaderLen)
	head[0], head[6] = 0x60, 58
	copy(head[24:], to.AsSlice())
	word := []byte{0, 0, byte(mtu >> 8), byte(mtu)}
	if to.Is4() {
		head, _ = (&ipv4.Header{Version: 4, Len: ipv4.HeaderLen, TTL: 64, Protocol: 1, Src: []byte{10, 1, 0, 2}, Dst: to.AsSlice()}).Marshal()
	}
	return append(append([]byte{kind, code, 0, 0}, word...), append(head, request[:min(quoted, len(request))]...)...)
}

// TestRead: what answers an echo is told with what it says; what only looks like it is not.
func TestRead(t *testing.T) {
	for _, size := range []int{0, 3, 8, 56, 2000} {
		for _, to := range []netip.Addr{to4, to6} {
			p := newProbe(to, size)
			r, err := p.request(7)
			if err != nil || len(r) != size+headerICMP {
				t.Fatal(len(r), err)
			}
			four := to.Is4()
			kind := func(v4, v6 byte) byte { return map[bool]byte{true: v4, false: v6}[four] }
			changed := func(at int) []byte { b := answer(r); b[at]++; return b }
			for name, row := range map[string]struct {
				b    []byte
				from netip.Addr
				want Echo
			}{
				"reply":           {answer(r), to, Echo{Outcome: Reply, Bytes: len(r), From: to}},
				"another's reply": {answer(r), addr("10.1.0.4"), Echo{}},
				"another id":      {changed(5), to, Echo{}},
				"another number":  {changed(7), to, Echo{}},
				"longer":          {append(answer(r), 0), to, Echo{}},
				"short":           {answer(r)[:7], to, Echo{}},
				"the request":     {r, to, Echo{}},
				"unreachable":     {about(kind(3, 1), kind(1, 3), 0, r, to, 8), router, Echo{Outcome: Unreachable, Bytes: len(r), From: router, Detail: map[bool]string{true: "host unreachable", false: "address unreachable"}[four]}},
				"unknown code":    {about(kind(3, 1), 99, 0, r, to, 500), router, Echo{Outcome: Unreachable, Bytes: len(r), From: router, Detail: "code 99"}},
				"prohibited":      {about(kind(3, 1), kind(13, 1), 0, r, to, 500), router, Echo{Outcome: Unreachable, Bytes: len(r), From: router, Detail: "communication administratively prohibited"}},
				"exceeded":        {about(kind(11, 3), 0, 0, r, to, 28), router, Echo{Outcome: Exceeded, Bytes: len(r), From: router, Detail: "on the way"}},
				"too big":         {about(kind(3, 2), kind(4, 0), 1300, r, to, 500), router, Echo{Outcome: TooBig, Bytes: len(r), From: router, MTU: 1300}},
				"about another":   {about(kind(3, 1), 1, 0, r, map[bool]netip.Addr{true: router, false: addr("fd01::4")}[four], 500), router, Echo{}},
				"about a reply":   {about(kind(3, 1), 1, 0, answer(r), to, 500), router, Echo{}},
				"cut":             {about(kind(3, 1), 1, 0, r, to, 7), router, Echo{}},
				"empty":           {nil, to, Echo{}},
				"redirect":        {about(kind(5, 137), 1, 0, r, to, 500), router, Echo{}},
			} {
				got, ours := p.read(row.b, row.from, 7)
				if ours != (row.want != Echo{}) || ours && got != row.want {
					t.Errorf("%s of %d to %s: %v %+v", name, size, to, ours, got)
				}
			}
			if size >= 8 {
				for name, b := range map[string][]byte{"reply": changed(headerICMP), "last byte": changed(len(r) - 1), "quoted": about(kind(3, 1), 1, 0, changed(headerICMP), to, 16)} {
					if name == "quoted" {
						b[len(b)-16] = kind(8, 128)
					}
					if got, ours := p.read(b, to, 7); ours {
						t.Errorf("%s of another mark to %s: %+v", name, to, got)
					}
				}
			}
		}
	}
}

// FuzzRead: no message of anybody's makes it fail.
func FuzzRead(f *testing.F) {
	for _, to := range []netip.Addr{to4, to6} {
		r, _ := newProbe(to, 20).request(1)
		f.Add(answer(r))
		f.Add(about(3, 4, 1300, r, to, 28))
		f.Add(about(1, 4, 1300, r, to, 28))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, to := range []netip.Addr{to4, to6} {
			if e, ours := newProbe(to, 20).read(b, to, 1); ours && e.Outcome == Reply {
				t.Errorf("%x passes for the reply to an echo whose mark it cannot know", b)
			}
		}
	})
}

// scripted is a connection that answers what it is told to. It notes what was sent.
type scripted struct {
	sent    [][]byte
	fails   error
	answers func(request []byte) []byte
	stopped chan struct{}
	reads   int
	waiting []byte
}

func (c *scripted) Send(b []byte, _ netip.Addr) error {
	c.sent = append(c.sent, b)
	c.waiting = nil
	if c.answers != nil {
		c.waiting = c.answers(b)
	}
	return c.fails
}

func (c *scripted) Receive(b []byte, deadline time.Time) (n, ttl int, from netip.Addr, err error) {
	c.reads++
	if c.waiting != nil {
		return copy(b, c.waiting), 63, to4, nil
	}
	select {
	case <-c.stopped:
	case <-time.After(time.Until(deadline)):
	}
	return 0, 0, from, os.ErrDeadlineExceeded
}

func (c *scripted) Stop() { close(c.stopped) }

func run(ctx context.Context, c *scripted, plan Plan) (all []Echo, err error) {
	c.stopped = make(chan struct{})
	plan.To = to4
	if plan.Alive == nil {
		plan.Alive = func() error { return nil }
	}
	err = Run(ctx, c, plan, func(e Echo) error { all = append(all, e); return nil })
	return all, err
}

// TestRun: each echo is told, in order, with what became of it.
func TestRun(t *testing.T) {
	ctx := context.Background()
	short := Plan{Count: 3, Size: 56, Interval: time.Millisecond, Wait: 5 * time.Millisecond}
	all, err := run(ctx, &scripted{answers: answer}, short)
	if err != nil || len(all) != 3 || all[2].Seq != 3 || all[2].Outcome != Reply || all[2].TTL != 63 || all[2].RTTSeconds <= 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if s := Summarize(all); s.Sent != 3 || s.Received != 3 || s.Loss != 0 || s.MinSeconds > s.AvgSeconds || s.AvgSeconds > s.MaxSeconds || s.MinSeconds <= 0 {
		t.Errorf("%+v", s)
	}
	all, err = run(ctx, &scripted{}, short)
	if err != nil || len(all) != 3 || all[0].Outcome != Unanswered {
		t.Errorf("%+v, %v", all, err)
	}
	if s := Summarize(all); s.Received != 0 || s.Loss != 100 || s.AvgSeconds != 0 {
		t.Errorf("%+v", s)
	}
	all, err = run(ctx, &scripted{fails: &os.SyscallError{Syscall: "sendto", Err: syscall.EMSGSIZE}}, short)
	if err != nil || len(all) != 3 || all[0].Outcome != NotSent || all[0].Detail != "message too long" {
		t.Errorf("%+v, %v", all, err)
	}
	gone := errors.New("gone")
	left := 2
	short.Alive = func() error {
		if left--; left < 0 {
			return gone
		}
		return nil
	}
	if all, err = run(ctx, &scripted{answers: answer}, short); !errors.Is(err, gone) || len(all) != 2 {
		t.Errorf("the container is gone: %+v, %v", all, err)
	}
}

// TestRunEnds: a ping ends with its context, while it waits for an answer and between two echoes.
func TestRunEnds(t *testing.T) {
	for name, c := range map[string]*scripted{"waiting": {}, "between": {answers: answer}} {
		ctx, cancel := context.WithCancel(context.Background())
		plan := Plan{Count: 2, Size: 56, Interval: time.Hour, Wait: time.Hour}
		time.AfterFunc(10*time.Millisecond, cancel)
		if all, err := run(ctx, c, plan); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %+v, %v", name, all, err)
		}
	}
}

// TestFloodIsBounded: messages without end that do not answer are read a few at a time, and the echo is given up at its time.
func TestFloodIsBounded(t *testing.T) {
	stray, _ := (&icmp.Message{Type: ipv4.ICMPTypeEchoReply, Body: &icmp.Echo{ID: 1, Data: []byte("forged")}}).Marshal(nil)
	c := &scripted{answers: func([]byte) []byte { return stray }}
	wait := 200 * time.Millisecond
	began := time.Now()
	all, err := run(context.Background(), c, Plan{Count: 1, Size: 56, Interval: time.Millisecond, Wait: wait})
	if err != nil || len(all) != 1 || all[0].Outcome != Unanswered || time.Since(began) > 10*wait {
		t.Errorf("%+v, %v after %s", all, err, time.Since(began))
	}
	if most := straysAtOnce * (1 + int(time.Since(began)/strayRest)); c.reads > most {
		t.Errorf("%d messages were read, more than %d", c.reads, most)
	}
}

// TestCheck: what is out of bounds is refused.
func TestCheck(t *testing.T) {
	good := Request{ID: heddle.EndpointID{Container: "a", IfName: "eth0"}, To: "b", Count: 4, IntervalSeconds: 1, WaitSeconds: 1, Size: 56}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(q *Request){
		"family": func(q *Request) { q.Family = 5 }, "no destination": func(q *Request) { q.To = "" }, "count": func(q *Request) { q.Count = 0 },
		"many": func(q *Request) { q.Count = MaxCount + 1 }, "fast": func(q *Request) { q.IntervalSeconds = 0.001 }, "slow": func(q *Request) { q.IntervalSeconds = 11 },
		"never": func(q *Request) { q.WaitSeconds = 1e300 }, "no wait": func(q *Request) { q.WaitSeconds = -1 }, "size": func(q *Request) { q.Size = MaxSize + 1 }, "negative": func(q *Request) { q.Size = -1 },
		"long": func(q *Request) { q.Count, q.WaitSeconds = 1000, 5 }, "no endpoint": func(q *Request) { q.ID.Container = "-" },
	} {
		q := good
		change(&q)
		if q.Check() == nil {
			t.Errorf("%s passes", name)
		}
	}
}
