package hardship_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/events"
	"github.com/heddle-network/heddle/test/cell"
)

// TestLabelsChange: an endpoint's labels are changed, told, and kept by an agent that is killed.
func TestLabelsChange(t *testing.T) {
	cell.Need(t)
	dir := folder(t)
	a := cell.Start(t, dir)
	_, _, err := a.CreateNetwork(ctx, network("bridge", 0), false)
	cell.Must(t, err)
	cell.Netns(t, "pod")
	request := heddle.AttachRequest{Network: "net0", ID: endpointID("pod"), Netns: "/run/netns/pod", Labels: map[string]string{"app": "web", "tier": "front"}}
	_, err = a.Attach(ctx, request)
	cell.Must(t, err)
	watch, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	stream := watchFrom(t, a, watch, "")
	defer stream.Close()
	const want = "app=shop, stage=test"
	e, err := a.Label(ctx, request.ID, heddle.LabelChange{Set: map[string]string{"app": "shop", "stage": "test"}, Remove: []string{"tier", "none"}})
	if err != nil || heddle.LabelText(e.Labels) != want || e.Port == "" {
		t.Errorf("%+v, %v", e, err)
	}
	if told, err := stream.Next(); err != nil || told.Action != events.Updated || heddle.LabelText(told.Labels) != want {
		t.Errorf("the event is %+v, %v", told, err)
	}
	for what, c := range map[string]struct {
		id     string
		change heddle.LabelChange
		code   heddle.Code
	}{
		"malformed": {"pod", heddle.LabelChange{Set: map[string]string{"a b": "x"}}, heddle.BadLabel},
		"too long":  {"pod", heddle.LabelChange{Set: map[string]string{"a": strings.Repeat("x", heddle.MaxLabelValue+1)}}, heddle.BadLabel},
		"not there": {"nobody", heddle.LabelChange{Remove: []string{"app"}}, heddle.NoEndpoint},
	} {
		if _, err := a.Label(ctx, endpointID(c.id), c.change); !errors.Is(err, c.code.Sentinel()) {
			t.Errorf("%s: %v", what, err)
		}
	}
	a.Kill()
	a = cell.Start(t, dir)
	found, err := a.EndpointsBy(ctx, []string{"label=app=shop", "label=stage"})
	if err != nil || len(found) != 1 || heddle.LabelText(found[0].Labels) != want {
		t.Errorf("after a kill: %+v, %v", found, err)
	}
	_, err = a.Attach(ctx, request)
	wantCode(t, err, heddle.EndpointDiffers, heddle.Conflict)
	request.Labels = e.Labels
	if r, err := a.Attach(ctx, request); err != nil || !r.Existed {
		t.Errorf("attached again with its labels: %+v, %v", r, err)
	}
	detach(t, a, "pod")
	cell.Must(t, a.DeleteNetwork(ctx, "net0"))
}
