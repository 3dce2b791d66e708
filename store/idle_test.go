package store_test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-network/heddle/store"
	"github.com/heddle-network/heddle/test/soak"
)

func TestIdle(t *testing.T) {
	soak.Turn(t, 0)
	measureIdle(t, 20)
}

func TestSoakIdle(t *testing.T) {
	soak.Need(t, "two hundred hosts that do nothing take minutes of a processor with the race detector")
	measureIdle(t, 200)
}

// measureIdle measures what hosts that do nothing cost: their clients and the server together, over
// TLS, with a watch and a lease each. It asserts no speed.
func measureIdle(t *testing.T, hosts int) {
	const within = 6 * time.Second
	a := newAuthority(t)
	k := newEmbedded(t, 0, a)
	k.start()
	before := cpu(t)
	time.Sleep(within / 2) // the measurement
	lone, alone := cpu(t)-before, resident(t)
	config := a.client(t, "host", time.Hour)
	var stores []*store.Etcd
	for i := range hosts {
		s := dialOptions(t, store.Options{Endpoints: []string{k.endpoint()}, TLS: config, Patience: time.Minute})
		commit(t, s, store.Change{Put: put("/h/"+strconv.Itoa(i), "1"), Lease: 15})
		stores = append(stores, s)
	}
	var mirrors []*mirror
	for _, s := range stores {
		mirrors = append(mirrors, follow(t, s, "/h/", nil))
	}
	for _, m := range mirrors {
		m.wait(t, "every host sees every host", func(m *mirror) bool { return len(m.entries) == hosts })
	}
	used, steady := time.Duration(0), false
	for window := 0; window < 5 && !steady; window++ {
		begun := snapshots(mirrors)
		before = cpu(t)
		time.Sleep(within) // the measurement
		used = cpu(t) - before
		for _, m := range mirrors {
			m.wait(t, "every host sees every host", func(m *mirror) bool { return len(m.entries) == hosts })
		}
		steady = snapshots(mirrors) == begun // a server that gets no CPU time for long counts as dead
	}
	if !steady {
		t.Errorf("watches are begun anew all the time: %d of %d hosts", snapshots(mirrors), hosts)
	}
	t.Logf("%d idle hosts and their store use %.3f of a core and %d MiB; the server alone %.3f and %d MiB",
		hosts, used.Seconds()/within.Seconds(), resident(t)>>20, lone.Seconds()/(within/2).Seconds(), alone>>20)
}

// snapshots is how often watches were begun.
func snapshots(mirrors []*mirror) (n int) {
	for _, m := range mirrors {
		m.mu.Lock()
		n += m.snapshots
		m.mu.Unlock()
	}
	return n
}

func cpu(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident is the process's memory in bytes (proc(5), statm).
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
