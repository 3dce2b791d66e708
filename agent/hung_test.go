package agent

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// TestHung: work that takes long is told once, and the goroutines when it hangs, not again and again.
func TestHung(t *testing.T) {
	var log strings.Builder
	h := &hung{log: slog.New(slog.NewTextHandler(&log, nil))}
	start := time.Unix(0, 0)
	for _, x := range []struct {
		at           time.Duration
		late         []string
		told, stacks int
	}{
		{10 * time.Second, []string{"a"}, 1, 0},
		{15 * time.Second, []string{"a", "b"}, 1, 0},
		{59 * time.Second, []string{"a", "b"}, 0, 0},
		{60 * time.Second, []string{"a", "b"}, 0, 1},
		{10 * time.Minute, []string{"a"}, 0, 0},
		{11 * time.Minute, []string{"a"}, 0, 1},
		{12 * time.Minute, nil, 0, 0},
		{13 * time.Minute, []string{"a"}, 1, 0},
	} {
		log.Reset()
		var late []heddle.Late
		for _, name := range x.late {
			late = append(late, heddle.Late{What: "attach", Endpoint: name, Since: start, Seconds: x.at.Seconds(), Waits: "the kernel"})
		}
		h.tell(late, start.Add(x.at))
		told, stacks := strings.Count(log.String(), `msg="work takes long"`), strings.Count(log.String(), "TestHung")
		if told != x.told || min(stacks, 1) != x.stacks {
			t.Errorf("after %v, of %v: %d told, %d of the test's stack\n%s", x.at, x.late, told, stacks, log.String())
		}
	}
}
