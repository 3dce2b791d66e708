package cni_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/containernetworking/cni/libcni"

	"github.com/heddle-network/heddle/test/cell"
)

// TestStorm lets many containers come and go at the same time while the agent
// is killed and started. An ADD succeeds or says to try again; a DEL succeeds;
// at the end there is nothing.
func TestStorm(t *testing.T) {
	h := newHost(t)
	l := chain(t, "1.1.0", bridge)
	h.mustAdd(l, container(t, "first")) // creates the network
	var group sync.WaitGroup
	var over atomic.Bool
	for i := range 12 {
		c := container(t, fmt.Sprintf("s%d", i))
		group.Add(1)
		go func() {
			defer group.Done()
			for !over.Load() {
				churn(h, l, c)
			}
		}()
	}
	for range 8 {
		time.Sleep(time.Duration(20+rand.IntN(100)) * time.Millisecond)
		h.Kill()
		h.Agent = cell.Start(t, h.dir)
	}
	over.Store(true)
	group.Wait()
	h.mustDel(l, &libcni.RuntimeConf{ContainerID: "first", IfName: "eth0"})
}

func churn(h *host, l *libcni.NetworkConfigList, c *libcni.RuntimeConf) {
	_, err := h.AddNetworkList(ctx, l, c)
	switch {
	case err != nil && code(err) != 11:
		h.t.Errorf("ADD %s: code %d %v", c.ContainerID, code(err), err)
	case err != nil:
		time.Sleep(10 * time.Millisecond)
	}
	for range 1 + rand.IntN(2) {
		if err := h.DelNetworkList(ctx, l, c); err != nil {
			h.t.Errorf("DEL %s: %v", c.ContainerID, err)
		}
	}
}
