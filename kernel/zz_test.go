package kernel

import (
	"fmt"
	"os"
	"sort"
	"testing"
	"time"

	"github.com/heddle-network/heddle/mode/bridge"
)

func TestZZSteps(t *testing.T) {
	if os.Getenv("ZZ") == "" {
		t.Skip()
	}
	for _, others := range []int{10, 1000} {
		s := newScenario(t, "bridge", bridge.Mode{}, nil, 0)
		r := newRoom(t)
		r.apply(s.netPlan)
		for i := range others {
			r.apply(s.hostPart(i))
		}
		time.Sleep(3 * time.Second)
		times := map[string][]time.Duration{}
		order := []string{}
		plan := s.endpoint(others)
		for range 200 {
			last, lastStep := time.Now(), ""
			r.k.Tripwire = func(step string) error {
				now := time.Now()
				if lastStep != "" {
					if times[lastStep] == nil {
						order = append(order, lastStep)
					}
					times[lastStep] = append(times[lastStep], now.Sub(last))
				}
				last, lastStep = time.Now(), step
				return nil
			}
			r.apply(plan)
			r.k.Tripwire("end")
			r.k.Tripwire = nil
			t0 := time.Now()
			r.k.Remove(plan, r.podNS, func(key string) bool { return contains(s.netPlan, key) })
			times["remove"] = append(times["remove"], time.Since(t0))
			time.Sleep(5 * time.Millisecond)
		}
		for _, n := range append(order, "remove") {
			d := times[n]
			sort.Slice(d, func(i, j int) bool { return d[i] < d[j] })
			fmt.Printf("%5d %-60s p50 %8v p99 %8v\n", others, n, d[len(d)/2], d[len(d)*99/100])
		}
	}
}
