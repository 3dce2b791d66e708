package agent

import (
	"testing"
	"time"
)

// TestPoolTarget: a pool should have as many NICs as were taken within any 30 seconds of the last ten minutes.
func TestPoolTarget(t *testing.T) {
	for what, x := range map[string]struct {
		least, most int
		// ago are the times of attaches, in seconds before now.
		ago  []int
		want int
	}{
		"nothing seen":                 {least: 2, most: 8, want: 2},
		"none wanted":                  {most: 8, want: 0},
		"fewer than the least":         {least: 2, most: 8, ago: []int{1}, want: 2},
		"a burst":                      {least: 2, most: 8, ago: []int{9, 8, 7, 6, 5}, want: 5},
		"more than the most":           {least: 1, most: 3, ago: []int{9, 8, 7, 6, 5}, want: 3},
		"exactly":                      {least: 3, most: 3, ago: []int{9, 8, 7, 6, 5}, want: 3},
		"one by one":                   {most: 8, ago: []int{120, 90, 60, 30, 0}, want: 1},
		"just within 30 s":             {most: 8, ago: []int{100, 71}, want: 2},
		"an older burst is the larger": {most: 8, ago: []int{599, 598, 597, 40, 2, 1}, want: 3},
		"a burst that is forgotten":    {most: 8, ago: []int{603, 602, 601, 2}, want: 1},
		"ten minutes ago":              {most: 8, ago: []int{600, 599}, want: 2},
	} {
		now := time.Now()
		var attaches []time.Time
		for _, s := range x.ago {
			attaches = append(attaches, now.Add(-time.Duration(s)*time.Second))
		}
		if got := poolTarget(x.least, x.most, attaches, now); got != x.want {
			t.Errorf("%s: %d, want %d", what, got, x.want)
		}
	}
}
