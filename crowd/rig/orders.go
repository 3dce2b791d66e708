package rig

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/event"
)

// Order is a command on its way to the player, Reply what came of it.
type Order struct {
	ID      int           `json:"order"` // in this round
	Command event.Command `json:"command"`
}

// Reply has the order's number, and what came of it.
type Reply struct {
	ID int `json:"order"`
	event.Done
	Error *heddle.Error `json:"error,omitempty"`
}

// waitReply is how long a player may take for an order. A program that is started again may take 30 s. To scale a crowd takes as long as
// it does, and the wait ends with the player.
const waitReply = 40 * time.Second

// maxOrder is the size of the longest order in bytes.
const maxOrder = 128 << 10

// orders go to the player of the round that is being played.
type orders struct {
	mu      sync.Mutex
	to      *os.File // nil between rounds
	last    int
	waiting map[int]chan Reply
}

// begin sends orders to a player from now on, and to none after the returned function.
func (o *orders) begin(to *os.File) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.to, o.waiting = to, map[int]chan Reply{}
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, w := range o.waiting {
			close(w)
		}
		o.to, o.waiting = nil, nil
	}
}

// reply takes a player's reply to who waits for it.
func (o *orders) reply(r Reply) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if w, waits := o.waiting[r.ID]; waits {
		w <- r // there is room for one
		delete(o.waiting, r.ID)
	}
}

// send sends a command, and returns where the reply will be.
func (o *orders) send(c event.Command) (<-chan Reply, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.to == nil {
		return nil, event.NotPlaying()
	}
	o.last++
	text, err := json.Marshal(Order{o.last, c})
	if err == nil {
		o.to.SetWriteDeadline(time.Now().Add(waitReply))
		_, err = o.to.Write(append(text, '\n'))
	}
	if err != nil {
		return nil, heddle.Wrap(heddle.CrowdFailed, "tell crowd", "", err, "see 'heddle crowd status'")
	}
	w := make(chan Reply, 1)
	o.waiting[o.last] = w
	return w, nil
}

// Do has the player of the present round do what a command says, and returns what came of it.
func (r *Rig) Do(c event.Command) (event.Done, error) {
	w, err := r.orders.send(c)
	if err != nil {
		return event.Done{}, err
	}
	var late <-chan time.Time
	if c.Scale == 0 {
		late = time.After(waitReply)
	}
	select {
	case got, is := <-w:
		switch {
		case !is:
			return event.Done{}, event.NotPlaying()
		case got.Error != nil:
			return got.Done, got.Error
		}
		return got.Done, nil
	case <-late:
		return event.Done{}, heddle.Errorf(heddle.CrowdFailed, "tell crowd", "", fmt.Sprintf("it did not answer in %s", waitReply), "see 'heddle crowd status'")
	}
}

// Obey is the player's side: it reads orders until the pipe ends, and writes a line for each that is done. One that takes long does not
// keep others waiting, and none is waited for when the pipe ends.
func Obey(from io.Reader, to io.Writer, do func(event.Command) (event.Done, error)) {
	in := bufio.NewScanner(from)
	in.Buffer(nil, maxOrder)
	for in.Scan() {
		var o Order
		if json.Unmarshal(in.Bytes(), &o) == nil { // otherwise nobody waits for it
			go o.obey(to, do)
		}
	}
	io.Copy(io.Discard, from)
}

// obey has an order done, and writes the reply.
func (o Order) obey(to io.Writer, do func(event.Command) (event.Done, error)) {
	r := Reply{ID: o.ID}
	var err error
	if r.Done, err = do(o.Command); err != nil {
		errors.As(heddle.Wrap(heddle.CrowdFailed, "tell crowd", "", err, ""), &r.Error)
	}
	if text, err := json.Marshal(r); err == nil {
		fmt.Fprintf(to, "%s%s\n", replyMark, text)
	}
}
