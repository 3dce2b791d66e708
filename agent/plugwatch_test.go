package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPlugsWatch: the agent looks when the provider says that something has changed, and not when it says that nothing has. While the provider is
// away, it is asked seldom.
func TestPlugsWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, c := newPlugs(t)
		c.changed = make(chan string)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.watch(ctx)
		}()
		looks := func(what string, want bool) {
			t.Helper()
			synctest.Wait()
			select {
			case <-p.soon:
				if !want {
					t.Error(what, ": it looks")
				}
			default:
				if want {
					t.Error(what, ": it does not look")
				}
			}
		}
		began := time.Now()
		c.changed <- "1"
		looks("first", true)
		c.changed <- "1"
		looks("the same", false)
		c.changed <- "2"
		looks("another", true)
		if took := time.Since(began); took != 2*watchRest {
			t.Errorf("three answers are taken in %v", took)
		}
		time.Sleep(watchRest)
		c.away = errors.New("away")
		began = time.Now()
		c.changed <- "3"
		looks("away", false)
		c.away = nil
		c.changed <- "2"
		looks("back, and as before", false)
		if took := time.Since(began); took != plugsEvery {
			t.Errorf("a provider that was away is asked after %v", took)
		}
		c.changed <- "3"
		looks("back, and changed", true)
		cancel()
		<-ended
	})
}
