package agent

import (
	"slices"
	"testing"

	"github.com/heddle-network/heddle"
)

func TestSeriesOf(t *testing.T) {
	var all []heddle.AttachRequest
	for _, path := range []string{"a", "b", "a", "", "", "b", "a"} {
		all = append(all, heddle.AttachRequest{Netns: path})
	}
	want := [][]int{{0, 2, 6}, {1, 5}, {3}, {4}}
	if got := seriesOf(all); !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}
