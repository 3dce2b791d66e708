package hardship_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// TestCrowd: 150 callers at once, each with a container of its own, on networks
// of all modes. Nobody is refused, and the host is as before when all have left.
func TestCrowd(t *testing.T) {
	soak.Turn(t, 1)
	cell.Need(t)
	crowd(t, 150, 150)
}

// TestSoakCrowd: 2,000 endpoints at once; the agent dies and comes back with all
// of them.
func TestSoakCrowd(t *testing.T) {
	cell.Need(t)
	soak.Need(t, "the full scale takes minutes")
	crowd(t, 2000, 8)
}

// crowd attaches that many containers by so many callers, ends the agent and
// starts it again, and detaches.
func crowd(t *testing.T, size, callers int) {
	dir := folder(t)
	pairs := size/len(terrains)/2 + 1
	for number, g := range terrains {
		g.prepare(t, number, pairs)
	}
	namespaces := make([]world.Netns, size)
	for i := range namespaces {
		namespaces[i] = world.NewNetns(t, fmt.Sprint("crowd", i))
	}
	before := world.NewFootprint(t)
	a := cell.Start(t, dir)
	everyMode(t, a)
	for number, g := range terrains {
		n := g.wish(number, pairs)
		n.Name = fmt.Sprint("net", number)
		_, _, err := a.CreateNetwork(ctx, n, false)
		cell.Must(t, err)
	}
	timed(t, fmt.Sprintf("%d attaches by %d callers", size, callers), func() {
		together(t, size, callers, func(i int) error {
			_, err := tryAttach(a, i%len(terrains), namespaces[i].Name)
			return err
		})
	})
	distinct(t, a, size)
	a.AuditEmpty(t)
	timed(t, fmt.Sprintf("death and return with %d endpoints", size), func() {
		a.Kill()
		a = cell.Start(t, dir)
	})
	a.AuditEmpty(t)
	timed(t, fmt.Sprintf("%d detaches by %d callers", size, callers), func() {
		together(t, size, callers, func(i int) error {
			found, err := a.Detach(ctx, endpointID(namespaces[i].Name))
			if err == nil && !found {
				err = fmt.Errorf("%s is not there", namespaces[i].Name)
			}
			return err
		})
	})
	a.AuditEmpty(t)
	for number := range terrains {
		cell.Must(t, a.DeleteNetwork(ctx, fmt.Sprint("net", number)))
	}
	a.AuditEmpty(t)
	a.Stop()
	before.Unchanged(t)
}

// together does all of the work, so many at once; an error fails the test.
func together(t *testing.T, size, callers int, do func(i int) error) {
	t.Helper()
	work := make(chan int)
	var wait sync.WaitGroup
	for range callers {
		wait.Go(func() {
			for i := range work {
				if err := do(i); err != nil {
					t.Errorf("number %d: %v", i, err)
				}
			}
		})
	}
	for i := range size {
		work <- i
	}
	close(work)
	wait.Wait()
}

func timed(t *testing.T, what string, do func()) {
	t.Helper()
	begin := time.Now()
	do()
	t.Logf("%s: %v", what, time.Since(begin).Round(time.Millisecond))
}

// distinct fails the test if there are not so many endpoints, or an address or
// a MAC was given twice on a network.
func distinct(t *testing.T, a *cell.Agent, size int) {
	t.Helper()
	all, err := a.Endpoints(ctx)
	cell.Must(t, err)
	if len(all) != size {
		t.Errorf("%d endpoints, want %d", len(all), size)
	}
	holder := map[string]heddle.EndpointID{}
	for _, e := range all {
		marks := []string{string(e.MAC)}
		for _, addr := range e.Addrs {
			marks = append(marks, addr.String())
		}
		for _, m := range marks {
			if other, taken := holder[e.Network+" "+m]; m != "" && taken {
				t.Errorf("%s and %s both have %s", e.ID, other, m)
			}
			holder[e.Network+" "+m] = e.ID
		}
	}
}
