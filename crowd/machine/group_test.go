package machine

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/test/namespace"
	"github.com/heddle-network/heddle/test/poll"
)

// hall is where parts find each other: addresses of a namespace's loopback, 127.0.0.K that of part K.
type hall struct {
	t         *testing.T
	namespace socket.Namespace
	meeting   Meeting

	mu   sync.Mutex
	gone []string
}

func newHall(t *testing.T) *hall {
	return &hall{t: t, namespace: namespace.New(t), meeting: Meeting{strings.Repeat("ab", 32), time.Now().Add(time.Hour).Truncate(time.Second)}}
}

func addrOf(number int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, byte(number)}) }

// dial connects from the address of a part.
func (h *hall) dial(number int, to netip.AddrPort) (c net.Conn, err error) {
	err = h.namespace.Do(func() (err error) {
		c, err = net.DialTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(addrOf(number), 0)), net.TCPAddrFromAddrPort(to))
		return err
	})
	return c, err
}

// open opens the group of a part of so many, which finds all others.
func (h *hall) open(number, of int) *Group {
	h.t.Helper()
	l, err := h.namespace.Listen(netip.AddrPortFrom(addrOf(number), Port))
	if err != nil {
		h.t.Fatal(err)
	}
	g := Open(Options{Meeting: h.meeting, Part: Part{number, of},
		Roster: Roster{Users: map[int][]netip.Addr{number: {addrOf(number)}}, Services: map[string]Place{fmt.Sprint("service", number): {Name: "name"}}},
		Find: func(context.Context) (all []Found, err error) {
			for other := 1; other <= of; other++ {
				if other != number {
					all = append(all, Found{Part{other, of}, "host", []netip.Addr{addrOf(other)}})
				}
			}
			return all, nil
		},
		Dial: func(_ context.Context, to netip.AddrPort) (net.Conn, error) { return h.dial(number, to) },
		Gone: func(p Part) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.gone = append(h.gone, fmt.Sprintf("%d misses %s", number, p))
		}}, l)
	h.t.Cleanup(g.Close)
	return g
}

// gather has all parts gather at once.
func gather(t *testing.T, all ...*Group) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var gathering sync.WaitGroup
	for _, g := range all {
		gathering.Go(func() {
			if err := g.Gather(ctx); err != nil {
				t.Errorf("part %s: %v", g.Part, err)
			}
		})
	}
	if gathering.Wait(); t.Failed() {
		t.FailNow()
	}
}

// person answers calls.
type person struct{ heard chan Heard }

func (p person) Answer(_ context.Context, r Ring, clock func() Clock) (netip.AddrPort, func(Heard) Heard, error) {
	if r.User != 2 {
		return netip.AddrPort{}, nil, fmt.Errorf("user %d is not at home", r.User)
	}
	if c := clock(); c.Within <= 0 || c.Within > time.Second {
		return netip.AddrPort{}, nil, fmt.Errorf("the caller's clock is %+v", c)
	}
	return netip.AddrPortFrom(r.From.Addr(), 7), func(theirs Heard) Heard {
		p.heard <- theirs
		return Heard{Sent: theirs.Sent + 1, Delay: time.Millisecond, Lost: 0.5}
	}, nil
}

// TestGroup: parts meet, know who is in each, call each other, and end together.
func TestGroup(t *testing.T) {
	h := newHall(t)
	one, two := h.open(1, 3), h.open(2, 3)
	_, err := poll.Until(time.Minute, 0, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		_ = two.Gather(ctx) // so that it knows the first one
		ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if err := one.Gather(ctx); err == nil || !strings.Contains(err.Error(), "part 3/3 on host host does not answer (") || strings.Contains(err.Error(), "2/3") {
			return fmt.Errorf("two of three have gathered: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	three := h.open(3, 3)
	all := []*Group{one, two, three}
	gather(t, all...)
	for _, g := range all {
		for _, p := range g.Peers() {
			if r := p.Roster(); p.Part.Of != 3 || len(r.Users[p.Part.Number]) != 1 || r.Services[fmt.Sprint("service", p.Part.Number)].Name != "name" {
				t.Errorf("part %s has %+v", p.Part, r)
			}
		}
		if c := g.Clock(); c.Within <= 0 || abs(c.Ahead) > c.Within { // it is one clock
			t.Errorf("%+v", c)
		}
	}

	heard := make(chan Heard, 2)
	time.AfterFunc(50*time.Millisecond, func() { two.Play(person{heard}) }) // who calls before waits
	called := one.Peers()[0]
	from := netip.MustParseAddrPort("127.0.0.1:99")
	at, bye, err := called.Call(t.Context(), Ring{User: 2, From: from, Lasts: time.Second})
	if err != nil || at.Port() != 7 {
		t.Fatal(at, err)
	}
	if theirs, err := bye(Heard{Sent: 5}); err != nil || theirs != (Heard{6, time.Millisecond, 0.5}) || <-heard != (Heard{Sent: 5}) {
		t.Errorf("%+v, %v", theirs, err)
	}
	if _, _, err := called.Call(t.Context(), Ring{User: 3, From: from}); err == nil || !strings.Contains(err.Error(), "user 3 is not at home") {
		t.Error(err)
	}

	ended := make(chan int)
	for i, g := range all {
		if i == 2 {
			select {
			case first := <-ended:
				t.Errorf("part %d has ended, and part 3 plays", first)
			case <-time.After(100 * time.Millisecond):
			}
		}
		go func() {
			g.Finish(t.Context())
			g.Close()
			ended <- i + 1
		}()
	}
	for range all {
		<-ended
	}
	for _, g := range all {
		if early := g.Early(); early != nil {
			t.Error(early)
		}
	}
	if h.gone != nil {
		t.Error(h.gone)
	}
}

// TestGroupGone: a part that ends before its time is noticed, and nobody waits for it.
func TestGroupGone(t *testing.T) {
	h := newHall(t)
	one, two := h.open(1, 2), h.open(2, 2)
	gather(t, one, two)
	two.Close() // as the kernel does when its process ends
	one.Finish(t.Context())
	if early := one.Early(); len(early) != 1 || !strings.Contains(early[0], "part 2/2 ended") {
		t.Error(early)
	}
	poll.For(t, time.Minute, time.Millisecond, "it is told", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.gone) == 1 && h.gone[0] == "1 misses 2/2"
	})
	if err := one.Present(); err == nil || !strings.Contains(err.Error(), "part 2/2 on host host has ended") {
		t.Error(err)
	}
	if _, _, err := one.Peers()[0].Call(t.Context(), Ring{}); err == nil {
		t.Error("who has gone is called")
	}
}

// TestDeskRefuses: who is no part of the crowd learns nothing, and changes nothing; neither does a part that asks for what cannot be.
func TestDeskRefuses(t *testing.T) {
	h := newHall(t)
	one, two := h.open(1, 2), h.open(2, 2)
	gather(t, one, two)
	meeting := fmt.Sprintf(`"sha256":%q,"begin":%q`, h.meeting.SHA256, h.meeting.Begin.Format(time.RFC3339))
	right := `{"meet":{` + meeting + `,"part":{"number":2,"of":2}}}`
	for _, c := range []struct {
		from      int
		say, want string
	}{
		{2, right, `{"roster":`},
		{9, right, ""}, // a stranger
		{9, `{"ring":{"user":2}}`, ""},
		{2, strings.Replace(right, `"sha256":"ab`, `"sha256":"cd`, 1), "another crowd"},
		{2, strings.Replace(right, `"number":2`, `"number":1`, 1), "another crowd"},
		{2, strings.Replace(right, `"of":2`, `"of":3`, 1), "another crowd"},
		{2, `{"time":{"done":true}}`, ""}, // before it has met
		{2, `{"bye":{}}`, ""},
		{2, `nonsense`, ""},
		{2, `{}`, ""},
		{2, `{"meet":{"sha256":"` + strings.Repeat("a", 2*maxRequest) + `"}}`, ""},
	} {
		conn, err := h.dial(c.from, netip.AddrPortFrom(addrOf(1), Port))
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintln(conn, c.say)
		got, _ := bufio.NewReader(conn).ReadString('\n')
		conn.Close()
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s from %d: %q", beginning(c.say), c.from, got)
		}
	}
	if p := one.Peers()[0]; p.done || p.over() {
		t.Error("a part that plays counts as ended")
	}
}

// beginning is the beginning of a text.
func beginning(text string) string { return text[:min(len(text), 80)] }
