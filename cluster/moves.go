package cluster

import (
	"time"

	"github.com/heddle-network/heddle/store"
)

// noteTakenLocked notes the moves of this host whose address an event shows pinned by the receiver. The
// receiver may have sent the address on before this host comes to look, and then nothing else
// would tell that the move was taken up.
func (c *Cluster) noteTakenLocked(e store.Event) {
	for _, entry := range e.Entries {
		pin := c.record.items[entry.Key]
		by, is := pin.parsed.(*pinRecord)
		if !is {
			continue
		}
		key := answerKey(c.o.Self.Name, pin.host, pin.addr)
		answer := c.record.items[key]
		if v, is := answer.parsed.(*answerRecord); is && v.Move != nil && v.Host == by.Host && pin.revision > answer.revision {
			c.movesTaken[key] = answer.revision
		}
	}
}

// settledLocked says that a move was taken up, or was not in time.
func (c *Cluster) settledLocked(answer item) bool {
	if c.movesTaken[answer.key] == answer.revision {
		return true
	}
	first, seen := c.movesSeen[answer.key]
	if !seen {
		first = time.Now()
		c.movesSeen[answer.key] = first
	}
	return time.Since(first) > c.o.MoveTime
}

// nextExpiry fires when the moves are to be looked at again; nil if there are none.
func (c *Cluster) nextExpiry() <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, revision := range c.movesTaken {
		if c.record.revisionOf(key) != revision {
			delete(c.movesTaken, key)
		}
	}
	for key := range c.movesSeen {
		if c.record.revisionOf(key) == 0 {
			delete(c.movesSeen, key)
		}
	}
	if len(c.movesSeen) == 0 {
		return nil
	}
	return time.After(c.o.MoveTime / 10)
}
