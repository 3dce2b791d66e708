package kernel

import (
	"sync"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// TestDiffAtOnce compares from several goroutines: none gets another's answers.
func TestDiffAtOnce(t *testing.T) {
	r := newRoom(t)
	r.sh(uplinkScript)
	s := newScenario(t, "bridge", scenarios(t)[0].mode, nil, 0)
	_, err := r.k.Apply(s.netPlan, nil)
	cell.Must(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 50 {
				drift, err := r.k.Diff(s.netPlan, nil)
				if err != nil || len(drift) > 0 {
					t.Errorf("%v %v", drift, err)
					return
				}
			}
		}()
	}
	all.Wait()
}
