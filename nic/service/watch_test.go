package service

import (
	"bytes"
	"crypto/tls"
	"errors"
	"mime/multipart"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic/remote"
	"github.com/heddle-network/heddle/test/poll"
)

// watched is what a watch that goes on returns.
type watched struct {
	now string
	err error
}

// watch returns what the machine's NICs are now, and begins a watch for another state.
func watch(t *testing.T, c *remote.Client) (now string, next <-chan watched) {
	t.Helper()
	now, err := c.Watch(ctx, "")
	must(t, err)
	ended := make(chan watched, 1)
	go func() {
		now, err := c.Watch(ctx, now)
		ended <- watched{now, err}
	}()
	return now, ended
}

// changedFrom waits until a watch has ended, with another state.
func changedFrom(t *testing.T, what, before string, next <-chan watched) {
	t.Helper()
	select {
	case got := <-next:
		if got.err != nil || got.now == before {
			t.Errorf("%s: state %s, %v; before %s", what, got.now, got.err, before)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("%s: the machine is not told", what)
	}
}

// TestWatch: a machine is told at once of what it, another machine, or somebody on the hypervisor does with its NICs, and of nothing else.
func TestWatch(t *testing.T) {
	s := serve(t, newWorld(), "127.0.0.1")
	a, b := s.client(t, "a"), s.client(t, "b")
	before, next := watch(t, a)
	_, err := a.Plug(ctx, order("x"))
	must(t, err)
	changedFrom(t, "plugged", before, next)

	before, next = watch(t, a)
	_, err = b.Plug(ctx, order("other"))
	must(t, err)
	s.changed <- portChange{machine: "b"}
	select {
	case got := <-next:
		t.Errorf("a is told of b's NIC: %+v, before %s", got, before)
	case <-time.After(300 * time.Millisecond):
	}
	before = onlyState(t, a, before)
	beforeB, nextB := watch(t, b)
	must(t, a.Permit(ctx, "x", "b", "y"))
	changedFrom(t, "permitted", before, next)
	changedFrom(t, "permitted", beforeB, nextB)

	_, err = b.Plug(ctx, over())
	must(t, err)
	before, next = watch(t, a)
	must(t, b.Confirm(ctx, "y"))
	changedFrom(t, "confirmed", before, next)

	before, next = watch(t, b)
	port := s.ports["tap1"]
	must(t, s.Remove(ctx, port))
	s.changed <- portChange{machine: "b", gone: true}
	changedFrom(t, "removed by hand", before, next)
	soon(t, "the device of a port that was removed by hand is out", func() bool { return s.world.state() == "b/other, b=tap2" })

	s.changed <- portChange{broken: errors.New("the agent has ended")}
	must(t, s.Remove(ctx, s.ports["tap2"]))
	soon(t, "the device of a port that was removed while the agent was away is out", func() bool { return s.world.state() == "" })
}

// onlyState is the machine's state, which is still as it was.
func onlyState(t *testing.T, c *remote.Client, was string) string {
	t.Helper()
	now, err := c.Watch(ctx, "")
	if err != nil || now != was {
		t.Errorf("state %s, %v; before %s", now, err, was)
	}
	return now
}

// TestWatchEnds: a machine has two watches at most. The service does not wait for them when it ends.
func TestWatchEnds(t *testing.T) {
	s := serve(t, newWorld(), "127.0.0.1")
	a := s.client(t, "a")
	before, err := a.Watch(ctx, "")
	must(t, err)
	ended := make(chan watched, maxWatches)
	for i := range maxWatches {
		soon(t, "the former watch is over, or waits", func() bool { return len(s.server.service.guests["a"].watches) == i })
		go func() {
			now, err := a.Watch(ctx, before)
			ended <- watched{now, err}
		}()
	}
	soon(t, "both wait", func() bool { return len(s.server.service.guests["a"].watches) == maxWatches })
	refused(t, "third watch", errOf(a.Watch(ctx, "")), heddle.Waited)
	must(t, errOf(s.client(t, "b").Watch(ctx, "")))
	began := time.Now()
	must(t, s.stop())
	for range maxWatches {
		if got := <-ended; got.err != nil || got.now != before {
			t.Errorf("%+v, before %s", got, before)
		}
	}
	if took := time.Since(began); took > watchTime/2 {
		t.Errorf("with watches, the service took %v to end", took)
	}
}

func soon(t *testing.T, what string, is func() bool) {
	t.Helper()
	if _, err := poll.Until(10*time.Second, time.Millisecond, func() error {
		if !is() {
			return errors.New("it is not so")
		}
		return nil
	}); err != nil {
		t.Fatal(what, ": ", err)
	}
}

// TestWatchBody: what a machine sends with a watch is not read, and nothing of it is kept.
func TestWatchBody(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := serve(t, newWorld(), "127.0.0.1")
	g := s.grant(t, "a")
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile(remote.QuerySince, "large")
	must(t, err)
	_, err = part.Write(make([]byte, 40<<20)) // more than net/http has of a form in memory
	must(t, err)
	must(t, form.Close())
	req, err := http.NewRequest(http.MethodGet, "https://"+g.Address+remote.PathWatch, &body)
	must(t, err)
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+g.Machine+"."+g.Secret)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := c.Do(req)
	if err == nil {
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("status %s: the test's request is refused", resp.Status)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestWatchTime: without a change a watch ends after a while, with the same state. The machine's part in the offer is a state, too.
func TestWatchTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.service()
		before, err := s.Watch(ctx, "a", "")
		must(t, err)
		began := time.Now()
		now, err := s.Watch(ctx, "a", before)
		if took := time.Since(began); err != nil || now != before || took != watchTime {
			t.Errorf("state %s, %v, after %v; before %s", now, err, took, before)
		}
		w.slots = 1
		if now, err := s.Watch(ctx, "a", before); err != nil || now == before {
			t.Errorf("with fewer slots: state %s, %v; before %s", now, err, before)
		}
		_, err = s.Watch(ctx, "c", "")
		refused(t, "unknown machine", err, heddle.BadArgument)
	})
}
