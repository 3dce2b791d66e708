package agent

import (
	"context"
	"runtime"

	"github.com/heddle-network/heddle"
)

// AttachBatch attaches several endpoints, a few at a time. It first checks all requests: if one is wrong
// in itself, or its network is not there, nothing is changed. After that each succeeds or fails by itself,
// as with Attach. The results are in the order of the requests. Those about one namespace are done in that
// order, too, so that the first one has the default route. When ctx ends, what has begun is finished, and
// nothing else begins.
func (a *Agent) AttachBatch(ctx context.Context, all []heddle.AttachRequest) ([]heddle.AttachResult, error) {
	if err := a.acceptBatch(ctx, all); err != nil {
		return nil, err
	}
	results, series := make([]heddle.AttachResult, len(all)), seriesOf(all)
	atOnce(batchWorkers*runtime.GOMAXPROCS(0), len(series), func(i int) {
		for _, k := range series[i] {
			results[k] = a.attachOfBatch(ctx, all[k])
		}
	})
	return results, nil
}

func (a *Agent) attachOfBatch(ctx context.Context, q heddle.AttachRequest) heddle.AttachResult {
	err := a.accept(ctx, &q)
	if err == nil {
		var reply heddle.AttachReply
		if reply, err = a.Attach(context.WithoutCancel(ctx), q); err == nil {
			return heddle.AttachResult{ID: q.ID, Reply: &reply}
		}
	}
	return heddle.AttachResult{ID: q.ID, Error: heddle.ErrorOf(err)}
}

// batchWorkers is how many endpoints of a batch are made at once, for each processor. One waits for the
// kernel while another one is planned.
const batchWorkers = 2

// acceptBatch makes the checks that need nothing but the requests and the names of their networks.
func (a *Agent) acceptBatch(ctx context.Context, all []heddle.AttachRequest) error {
	if err := heddle.CheckBatch(all); err != nil {
		return err
	}
	found := map[string]bool{}
	for _, q := range all {
		if err := a.accept(ctx, &q); err != nil {
			return err
		}
		if found[q.Network] {
			continue
		}
		if _, err := a.findNew(ctx, q.Network); err != nil {
			return err
		}
		found[q.Network] = true
	}
	return nil
}

// seriesOf groups requests by namespace, by their position: those of a group wait for each other. One
// without a namespace is alone.
func seriesOf(all []heddle.AttachRequest) (series [][]int) {
	of := map[string]int{}
	for i, q := range all {
		at, known := of[q.Netns]
		if !known || q.Netns == "" {
			at = len(series)
			of[q.Netns], series = at, append(series, nil)
		}
		series[at] = append(series[at], i)
	}
	return series
}
