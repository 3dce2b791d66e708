package aws

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	local "github.com/heddle-network/heddle/test/cloud"
)

// TestIndexes: a device index that somebody has taken, by a NIC that is not described, is passed over, and tried once by each order.
func TestIndexes(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	c.Set(local.Faults{Hidden: []string{"eni-foreign"}})
	c.PutAt("eni-foreign", me, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for _, token := range []string{"e-1", "e-2"} {
		all.Go(func() {
			if _, err := p.Plug(ctx, order(token)); err != nil {
				t.Error(token, err)
			}
		})
	}
	all.Wait()
	c.Set(local.Faults{})
	if all := c.Indexes(me); !slices.Equal(all, []int{0, 1, 2, 3}) {
		t.Errorf("indexes %v", all)
	}
}

// TestForeignIndex: what other instances have takes no device index of this one, also where the cloud does not heed a filter.
func TestForeignIndex(t *testing.T) {
	c, p, _ := newCloud(t, nil)
	c.PutAt("eni-other", "i-other", 1)
	c.Set(local.Faults{Unfiltered: true})
	if _, err := p.Plug(t.Context(), order("e-1")); err != nil || !slices.Equal(c.Indexes(me), []int{0, 1}) {
		t.Errorf("%v; indexes %v", err, c.Indexes(me))
	}
}
