package dhcp

import (
	"reflect"
	"time"

	"github.com/heddle-network/heddle"
)

// longestNap is how long the client waits at most before it looks at the clock: its timer stands still
// while the host sleeps, and leases do not.
const longestNap = 30 * time.Second

// tick does what is due, and sets the timer.
func (c *Client) tick() {
	c.mu.Lock()
	c.due = time.Time{}
	c.mu.Unlock()
	now := time.Now()
	c.step(func(k *keeper) bool { return !now.Before(k.Deadline()) }, func(k *keeper) [][]byte { return k.Tick(now) })
}

// step has those machines do something that are meant, tells whose lease has changed, and sends what
// they say. It is cheap if none is meant: there are LANs with many frames that mean nobody here.
func (c *Client) step(meant func(*keeper) bool, do func(*keeper) [][]byte) {
	var changed []heddle.EndpointID
	some := false
	c.mu.Lock()
	for id, k := range c.leases {
		if !meant(k) {
			continue
		}
		some = true
		was, settled := k.has(), k.settled()
		c.out = append(c.out, do(k)...)
		if now := k.has(); !reflect.DeepEqual(was, now) {
			changed = append(changed, id)
		} else if settled == k.settled() {
			continue
		}
		close(k.news)
		k.news = make(chan struct{})
	}
	if some || c.due.IsZero() {
		c.arm()
	}
	c.mu.Unlock()
	for _, id := range changed {
		c.changed(id)
	}
	if some {
		c.flush()
	}
}

// arm sets the timer for the first deadline. It never sets it off: else frames that come faster than it
// fires would keep it from firing.
func (c *Client) arm() {
	if len(c.leases) == 0 {
		return
	}
	nap := longestNap
	for _, k := range c.leases {
		nap = max(min(nap, time.Until(k.Deadline())), time.Millisecond)
	}
	at := time.Now().Add(nap)
	if !c.due.IsZero() && !at.Before(c.due) {
		return
	}
	if c.due = at; c.timer == nil {
		c.timer = time.AfterFunc(nap, c.tick)
		return
	}
	c.timer.Reset(nap)
}
