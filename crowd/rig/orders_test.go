package rig

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/diary"
	"github.com/heddle-network/heddle/crowd/event"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/test/poll"
)

// oneByOne is written to by several, as a file may be.
type oneByOne struct {
	sync.Mutex
	io.Writer
}

func (w *oneByOne) Write(b []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	return w.Writer.Write(b)
}

// TestOrders: what a rig is told goes to its player, whose words come back; at the pipe's end the player leaves. Between rounds
// there is nobody.
func TestOrders(t *testing.T) {
	r := &Rig{}
	fault := &scenario.Event{Service: "mail", Fault: scenario.Silent}
	if _, err := r.Do(event.Command{Clear: true}); err == nil || !strings.Contains(err.Error(), "nothing is being played") {
		t.Error(err)
	}
	hear, leave, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	notes := make(chan string, 10)
	said := &oneByOne{Writer: &lines{notes: func(s string) { notes <- s }, reply: r.orders.reply}}
	left := make(chan struct{})
	gone := make(chan struct{})
	go func() {
		defer close(left)
		Obey(hear, said, func(c event.Command) (event.Done, error) {
			said.Write([]byte("heddle: it is told something\n"))
			switch {
			case c.Clear:
				return event.Done{}, heddle.Errorf(heddle.BadArgument, "clear", "", "no", "")
			case c.Scale > 0:
				return event.Done{Scale: &diary.Scale{From: 5, To: c.Scale, Took: 1}}, nil
			case c.Begin.For > 0:
				<-gone
			}
			return event.Done{Events: []diary.Event{{Event: *c.Begin, ByHand: true}}}, nil
		})
	}()
	end := r.orders.begin(leave)
	if done, err := r.Do(event.Command{Begin: fault}); err != nil || len(done.Events) != 1 || done.Events[0].Event != *fault {
		t.Errorf("%v: %+v", err, done)
	}
	leave.WriteString("{\n\n") // which is no order
	if _, err := r.Do(event.Command{Clear: true}); !errors.Is(err, heddle.BadArgument.Sentinel()) {
		t.Error(err)
	}
	if done, err := r.Do(event.Command{Scale: 7}); err != nil || done.Scale == nil || *done.Scale != (diary.Scale{From: 5, To: 7, Took: 1}) {
		t.Errorf("%v: %+v", err, done.Scale)
	}
	long := *fault
	long.For = time.Minute
	answers := make(chan error)
	go func() {
		_, err := r.Do(event.Command{Begin: &long})
		answers <- err
	}()
	poll.For(t, time.Minute, time.Millisecond, "the order is sent", func() bool {
		r.orders.mu.Lock()
		defer r.orders.mu.Unlock()
		return len(r.orders.waiting) == 1 // and is done while others are
	})
	if _, err := r.Do(event.Command{Scale: 8}); err != nil {
		t.Errorf("while another order is being done: %v", err)
	}
	end() // the round ends, and the player has not answered
	if err := <-answers; err == nil || !strings.Contains(err.Error(), "nothing is being played") {
		t.Error(err)
	}
	close(gone)
	leave.Close()
	<-left
	if _, err := r.Do(event.Command{Clear: true}); err == nil {
		t.Error("a player that has left is told something")
	}
	for range 5 {
		if note := <-notes; note != "it is told something" {
			t.Error(note)
		}
	}
}

// TestObeyEnds: at the pipe's end the player leaves, also while orders are being done.
func TestObeyEnds(t *testing.T) {
	hear, leave, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hear.Close()
	begun, end, left := make(chan struct{}, 2), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		Obey(hear, io.Discard, func(event.Command) (event.Done, error) {
			begun <- struct{}{}
			<-end
			return event.Done{}, nil
		})
	}()
	for range 2 {
		leave.WriteString(`{"order":1,"command":{"clear":true}}` + "\n")
		<-begun
	}
	leave.Close()
	<-left
	close(end)
}

// TestObeyLong: an order that is too long is none, and the pipe's end is still heard.
func TestObeyLong(t *testing.T) {
	var out bytes.Buffer
	Obey(strings.NewReader(strings.Repeat("x", 2*maxOrder)+"\n"+`{"order":1,"command":{"clear":true}}`+"\n"), &out, func(event.Command) (event.Done, error) { return event.Done{}, nil })
	if out.Len() > 0 {
		t.Error(out.String())
	}
}
