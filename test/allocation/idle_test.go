package allocation_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

func TestIdleAgents(t *testing.T) {
	soak.Turn(t, 0)
	measureIdle(t, 20)
}

func TestSoakIdleAgents(t *testing.T) {
	soak.Need(t, "two hundred agents that begin at once keep a busy machine's store from answering in time")
	measureIdle(t, 200)
}

// measureIdle prints what the agents of so many hosts cost, with the store that they share, while
// nothing happens. The goal is a fifth of a core for 200.
func measureIdle(t *testing.T, agents int) {
	w := &world{t: t, dir: t.TempDir()}
	w.startMembers(1)
	t.Cleanup(func() { w.members[0].server.Close() })
	all, errs := make([]*cluster.Cluster, agents), make([]error, agents)
	var group sync.WaitGroup
	for i := range agents {
		s, err := store.Dial(store.Options{Endpoints: w.clients()})
		cell.Must(t, err)
		t.Cleanup(func() { s.Close() })
		group.Go(func() {
			all[i], errs[i] = cluster.Open(soon(t), cluster.Options{Store: s, StateDir: filepath.Join(w.dir, fmt.Sprint(i)), Wait: 5 * time.Minute,
				Self: heddle.Host{Name: fmt.Sprintf("h%d", i), MTU: 1500}})
		})
	}
	group.Wait()
	for i, c := range all {
		cell.Must(t, errs[i])
		t.Cleanup(func() { c.Close() })
	}
	for _, c := range all {
		until(t, "all see all", func() bool { return len(c.View().Alive) == agents && len(c.View().Peers) == agents-1 })
	}
	time.Sleep(5 * time.Second) // what they saw is on their disks
	const long = 10 * time.Second
	before, began := used(t), time.Now()
	time.Sleep(long)
	share := float64(used(t)-before) / float64(time.Since(began))
	t.Logf("%d idle agents and their store use %.3f of a core", agents, share)
}

// used is the CPU time of this process.
func used(t *testing.T) time.Duration {
	var u syscall.Rusage
	cell.Must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
