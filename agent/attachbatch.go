package agent

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/heddle-network/heddle"
)

// AttachBatch attaches several endpoints, a few at a time. It first checks all requests: if one is wrong
// in itself, or its network is not there, nothing is changed. After that each succeeds or fails by itself,
// as with Attach. The results are in the order of the requests. Those about one namespace are done in that
// order, too, if their paths are the same: so the first one has the default route. When ctx ends, what
// has begun is finished, and nothing else begins.
func (a *Agent) AttachBatch(ctx context.Context, all []heddle.AttachRequest) ([]heddle.AttachResult, error) {
	if err := a.acceptBatch(ctx, all); err != nil {
		return nil, err
	}
	results, series := make([]heddle.AttachResult, len(all)), seriesOf(all)
	atOnce(cap(a.batchTurns), len(series), func(i int) {
		for _, k := range series[i] {
			a.batchTurns <- struct{}{}
			reply, err := a.attachOfBatch(ctx, all[k])
			<-a.batchTurns
			results[k].ID, results[k].Error = all[k].ID, heddle.ErrorOf("attach endpoint", err)
			if err == nil {
				results[k].Reply = &reply
			}
		}
	})
	return results, nil
}

// attachOfBatch attaches one endpoint of a batch, unless ctx has ended. A panic is an error, as net/http keeps one to its call.
func (a *Agent) attachOfBatch(ctx context.Context, q heddle.AttachRequest) (reply heddle.AttachReply, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			a.log.Error("panic in an attach", "endpoint", q.ID, "cause", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	if err := ctx.Err(); err != nil {
		return reply, heddle.Wrap(heddle.Waited, "attach endpoint", q.ID.String(), err, "call again: what is attached stays as it is")
	}
	return a.Attach(context.WithoutCancel(ctx), q)
}

// newBatchTurns has a turn for each endpoint that batches make at once: two for each processor, as one waits for
// the kernel while another one is planned.
func newBatchTurns() chan struct{} { return make(chan struct{}, 2*runtime.GOMAXPROCS(0)) }

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
