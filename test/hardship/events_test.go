package hardship_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/test/cell"
)

// TestEvents: two watchers see each attach and detach once and in order, also the one
// that comes back by its cursor again and again.
func TestEvents(t *testing.T) {
	cell.Need(t)
	a := cell.Start(t, folder(t))
	const pods = 12
	watch, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	streams := []*client.EventStream{watchFrom(t, a, watch, ""), watchFrom(t, a, watch, "")}
	n := network("bridge", 0)
	n.Labels = map[string]string{"tier": "web"}
	_, _, err := a.CreateNetwork(ctx, n, false)
	cell.Must(t, err)
	want := []string{"network created net0"}
	for i := range pods {
		id := fmt.Sprint("pod", i)
		want = append(want, "endpoint attached "+id+"/eth0", "endpoint detached "+id+"/eth0")
	}
	want = append(want, "network removed net0")
	seen := make([][]string, len(streams))
	var wait sync.WaitGroup
	for i := range streams {
		wait.Go(func() { seen[i] = readEvents(t, a, watch, streams[i], len(want), i == 1) })
	}
	for i := range pods {
		pod := fmt.Sprint("pod", i)
		cell.Netns(t, pod)
		_, err := a.Attach(ctx, heddle.AttachRequest{Network: "net0", ID: endpointID(pod), Netns: "/run/netns/" + pod, Labels: map[string]string{"pod": fmt.Sprint(i)}})
		cell.Must(t, err)
		detach(t, a, pod)
	}
	cell.Must(t, a.DeleteNetwork(ctx, "net0"))
	wait.Wait()
	for i, got := range seen {
		if !slices.Equal(got, want) {
			t.Errorf("watcher %d has seen\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	filteredEvents(t, a)
	lostEvents(t, a)
}

// watchFrom watches networks and endpoints after a cursor.
func watchFrom(t *testing.T, a *cell.Agent, ctx context.Context, since string) *client.EventStream {
	t.Helper()
	s, err := a.Events(ctx, client.EventQuery{Since: since, Filter: []string{"kind=network", "kind=endpoint"}})
	cell.Must(t, err)
	return s
}

// readEvents reads so many events; if it is restless, it watches anew after each third.
func readEvents(t *testing.T, a *cell.Agent, ctx context.Context, s *client.EventStream, number int, restless bool) (seen []string) {
	defer func() { s.Close() }()
	for len(seen) < number {
		e, err := s.Next()
		if err != nil {
			t.Error(err)
			return seen
		}
		seen = append(seen, fmt.Sprintf("%s %s %s", e.Kind, e.Action, e.Object))
		if restless && len(seen)%3 == 0 {
			s.Close()
			if s, err = a.Events(ctx, client.EventQuery{Since: e.Cursor, Filter: []string{"kind=network", "kind=endpoint"}}); err != nil {
				t.Error(err)
				return seen
			}
		}
	}
	return seen
}

// once reads what there is.
func once(t *testing.T, a *cell.Agent, q client.EventQuery) (all []events.Event) {
	t.Helper()
	q.Once = true
	s, err := a.Events(ctx, q)
	cell.Must(t, err)
	defer s.Close()
	for {
		e, err := s.Next()
		if err != nil {
			return all
		}
		all = append(all, e)
	}
}

func filteredEvents(t *testing.T, a *cell.Agent) {
	t.Helper()
	for filter, want := range map[string]int{"label=pod=3": 2, "label=tier": 2, "label=none": 0, "network=net0": 26, "kind=network": 2} {
		if got := once(t, a, client.EventQuery{Filter: []string{filter}}); len(got) != want {
			t.Errorf("filter %s: %d events, want %d", filter, len(got), want)
		}
	}
	for _, q := range []client.EventQuery{{Filter: []string{"kind=pod"}}, {Since: "yesterday"}} {
		_, err := a.Events(ctx, q)
		wantCode(t, err, heddle.BadArgument, heddle.Usage)
	}
}

// lostEvents: a cursor of an agent's earlier life is refused, a watcher is told that the
// agent goes, and the next one has a log of its own.
func lostEvents(t *testing.T, a *cell.Agent) {
	t.Helper()
	last := once(t, a, client.EventQuery{})
	s := watchFrom(t, a, ctx, "")
	defer s.Close()
	began := time.Now()
	a.Stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("with a watcher, the agent took %v to end", took)
	}
	if _, err := s.Next(); !errors.Is(err, heddle.Stopping.Sentinel()) {
		t.Errorf("the watcher was told: %v", err)
	}
	a = cell.Start(t, a.Dir)
	_, err := a.Events(ctx, client.EventQuery{Since: last[len(last)-1].Cursor})
	wantCode(t, err, heddle.EventsLost, heddle.Failed)
}

// TestIdleWatchers: as many as may watch, and never read, hold nobody up; one more is
// refused, and is let in when another has gone.
func TestIdleWatchers(t *testing.T) {
	cell.Need(t)
	a := cell.Start(t, folder(t))
	createNetwork(t, a, "bridge", 0)
	const most = 64
	idle := make([]net.Conn, most)
	for i := range idle {
		idle[i] = idleWatcher(t, filepath.Join(a.Dir, "run", "heddle.sock"))
	}
	_, err := a.Events(ctx, client.EventQuery{})
	wantCode(t, err, heddle.WatchersFull, heddle.Conflict)
	label := map[string]string{}
	for i := range heddle.MaxLabels {
		label[fmt.Sprint("key", i)] = strings.Repeat("x", heddle.MaxLabelValue)
	}
	cell.Netns(t, "pod")
	began := time.Now()
	for range 20 { // a connection's buffers have room for some hundred kilobytes
		_, err := a.Attach(ctx, heddle.AttachRequest{Network: "net0", ID: endpointID("pod"), Netns: "/run/netns/pod", Labels: label})
		cell.Must(t, err)
		detach(t, a, "pod")
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("20 attaches and detaches took %v", took)
	}
	idle[0].Close()
	for _, err = a.Events(ctx, client.EventQuery{}); err != nil && time.Since(began) < time.Minute; {
		time.Sleep(10 * time.Millisecond)
		_, err = a.Events(ctx, client.EventQuery{})
	}
	cell.Must(t, err)
	began = time.Now()
	a.Stop()
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("with idle watchers, the agent took %v to end", took)
	}
}

// idleWatcher watches, and reads no more than that it does.
func idleWatcher(t *testing.T, socket string) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", socket)
	cell.Must(t, err)
	t.Cleanup(func() { c.Close() })
	_, err = c.Write([]byte("GET /v1/events HTTP/1.1\r\nHost: heddle\r\n\r\n"))
	cell.Must(t, err)
	if line, err := bufio.NewReaderSize(c, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("%q, %v", line, err)
	}
	return c
}

// TestTroubleTold: a part of the status that is not ok any more, and is again, is told.
func TestTroubleTold(t *testing.T) {
	cell.Need(t)
	a := cell.Start(t, folder(t))
	watch, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s, err := a.Events(watch, client.EventQuery{Filter: []string{"kind=trouble"}})
	cell.Must(t, err)
	defer s.Close()
	next := func(action events.Action) {
		t.Helper()
		e, err := s.Next()
		for err == nil && e.Object != "ledger" {
			e, err = s.Next()
		}
		if err != nil || e.Action != action {
			t.Errorf("%+v, %v; want %s", e, err, action)
		}
	}
	state := filepath.Join(a.Dir, "state")
	cell.Must(t, os.Rename(state, state+".away"))
	next(events.Began)
	cell.Must(t, os.Rename(state+".away", state))
	next(events.Ended)
}
