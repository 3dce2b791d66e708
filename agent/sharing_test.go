package agent

import (
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// TestSharing: an endpoint whose plan shares no link waits for nobody, offered or not. One with a
// shared link waits.
func TestSharing(t *testing.T) {
	id := heddle.EndpointID{Container: "c", IfName: "eth"}
	own, hand, trunk := heddle.Link{Name: id.PortName()}, heddle.Link{Name: id.HandName()},
		heddle.Link{Name: "hs0123456789aa"}
	for _, c := range []struct {
		links []heddle.Link
		waits bool
	}{{nil, false}, {[]heddle.Link{own}, false}, {[]heddle.Link{own, hand}, false}, {[]heddle.Link{trunk, own}, true}} {
		a := &Agent{}
		others := a.linkLocks.byName.Lock("hs0123456789aa")
		done := make(chan bool)
		go func() {
			a.linkLocks.lockShared(record{Endpoint: heddle.Endpoint{ID: id, Handover: true},
				Plan: heddle.Plan{Host: heddle.State{Links: c.links}}})()
			close(done)
		}()
		limit := 20 * time.Second
		if c.waits {
			limit = 50 * time.Millisecond
		}
		select {
		case <-done:
			if c.waits {
				t.Errorf("%v: does not wait for others", c.links)
			}
		case <-time.After(limit):
			if !c.waits {
				t.Errorf("%v: waits for others", c.links)
			}
		}
		others()
		<-done
	}
}
