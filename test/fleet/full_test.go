package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/forge"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestSoakFullStore has a host that was taken over fill the store until it takes no more,
// and go on with it. Traffic goes on, attaches do in blocks that their host has, the status
// tells, and an operator can remove that host.
func TestSoakFullStore(t *testing.T) {
	soak.Need(t, "writes a gigabyte")
	k := newTaken(t)
	near, far := k.hosts[0].attach(t, "one", "app"), k.hosts[1].attach(t, "two", "app")
	junk := strings.Repeat("x", 1<<20)
	const full = "space exceeded" // etcd's word
	fill := func() (err error) {
		for i := 0; err == nil && i < 1000; i++ {
			key := fmt.Sprintf("/heddle/hosts/%s/x%d", k.book.name, i)
			if i%2 == 0 {
				key = fmt.Sprintf("/heddle/blocks/%s/x%d", k.book.networkID, i)
			}
			err = k.Write(forge.Text(key, junk))
		}
		return err
	}
	if err := fill(); err == nil || !strings.Contains(err.Error(), full) {
		t.Fatalf("the store is not full: %v", err)
	}
	far.finds(t, near.addrs()...)
	k.hosts[0].attach(t, "three", "app").detach(t)
	world.Within(t, time.Minute, "the status says that the store is full", func() error {
		out, _ := k.hosts[0].tryCLI(t, "status")
		if !strings.Contains(out, "NOSPACE") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	var out error // why the host writes no more
	over := make(chan struct{})
	go func() {
		defer close(over)
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
			if out = fill(); out != nil && !strings.Contains(out.Error(), full) {
				return
			}
		}
	}()
	began := time.Now()
	k.hosts[0].cli(t, "host", "remove", k.book.name, "--force")
	t.Logf("removed in %v", time.Since(began).Round(time.Second))
	<-over
	if out == nil || strings.Contains(out.Error(), full) {
		t.Errorf("the host that was removed may still write: %v", out)
	}
	k.hosts[0].cli(t, "network", "create", "later", "--mode", "overlay", "--subnet", "10.77.0.0/24")
	k.hosts[1].cli(t, "status", "--wait", "--timeout", "1m")
	far.finds(t, near.addrs()...)
}
