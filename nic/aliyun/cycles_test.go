package aliyun

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/nic"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/cloud"
	"github.com/heddle-network/heddle/test/soak"
)

// TestCycles orders and deletes NICs while the cloud misbehaves in one way after the other, and orders are cut off at any moment, as by a killed
// agent. No two orders get one NIC. When the cloud is well again, and strays were taken out as an agent does, none is left.
func TestCycles(t *testing.T) {
	seed, workers, cycles := soak.Seed(t), 12, 1
	if soak.On() {
		workers, cycles = 20, 25
	}
	c, _, open := newCloud(t, func(o *cloud.Options) { o.NICs = workers/2 + 1 })
	stop := make(chan struct{})
	var faults, all sync.WaitGroup
	faults.Go(func() { misbehave(c, rand.New(rand.NewPCG(seed, 0)), stop) })
	w := &owners{t: t, of: map[heddle.MAC]string{}}
	for i := range workers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(i+1)))
			for range cycles {
				w.cycle(open(), random, fmt.Sprint("e-", i))
			}
		})
	}
	all.Wait()
	close(stop)
	faults.Wait()
	c.Set(cloud.Faults{})
	p := open()
	for end := time.Now().Add(20 * time.Second); len(c.IDs()) > 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("left are %v", c.IDs())
		}
		c.Finish()
		cards, err := p.List(t.Context())
		cell.Must(t, err)
		for _, card := range cards {
			cell.Must(t, p.Unplug(t.Context(), card.Token))
		}
	}
	t.Logf("%d NICs were plugged in; the API was called to make %d, and to attach %d times", w.plugged, c.Calls("CreateNetworkInterface"), c.Calls("AttachNetworkInterface"))
	if w.plugged < workers*cycles/4 {
		t.Errorf("only %d of %d orders came to a NIC", w.plugged, workers*cycles)
	}
}

// misbehave changes how the cloud misbehaves, until stop is closed.
func misbehave(c *cloud.Cloud, random *rand.Rand, stop chan struct{}) {
	for {
		f := cloud.Faults{Delay: time.Duration(random.IntN(200)) * time.Millisecond, Lag: time.Duration(random.IntN(400)) * time.Millisecond}
		switch random.IntN(8) {
		case 0:
			f.Away = true
		case 1:
			f.Lost = true
		case 2:
			f.Throttled = 10
		case 3:
			f.Refuse = map[string]string{"AttachNetworkInterface": "Operation.Conflict"}
		case 4:
			f.Refuse = map[string]string{"DetachNetworkInterface": "Forbidden.RAM"}
		case 5:
			f.Stuck = true
		}
		c.Set(f)
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(100+random.IntN(500)) * time.Millisecond):
		}
		c.Finish()
	}
}

// owners are the tokens that have NICs at present.
type owners struct {
	t       *testing.T
	mu      sync.Mutex
	of      map[heddle.MAC]string
	plugged int
}

// cycle orders a NIC, as a new agent, and has it deleted. Each is cut off at some moment, or not.
func (w *owners) cycle(p *agent, random *rand.Rand, token string) {
	try := func(do func(context.Context) error) error {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Duration(200+random.IntN(6000))*time.Millisecond)
		defer cancel()
		return do(ctx)
	}
	var card nic.Card
	err := try(func(ctx context.Context) (err error) {
		card, err = p.Plug(ctx, order(token))
		return err
	})
	if err == nil {
		w.take(card, token)
	}
	w.give(card)
	try(func(ctx context.Context) error { return p.Unplug(ctx, token) })
}

func (w *owners) take(card nic.Card, token string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plugged++
	if has := w.of[card.MAC]; has != "" || !card.Plugged || card.Token != token || len(card.Addrs) != 2 {
		w.t.Errorf("%s gets %+v, which %q has", token, card, has)
	}
	w.of[card.MAC] = token
}

func (w *owners) give(card nic.Card) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, card.MAC)
}
