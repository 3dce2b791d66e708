package agent

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// TestQuarantine: an endpoint is in quarantine from the removal that says so until a removal
// succeeds. Other failures do not change that, and do not hide it.
func TestQuarantine(t *testing.T) {
	id := heddle.EndpointID{Container: "c1", IfName: "eth0"}
	q := newQuarantine(slog.New(slog.DiscardHandler))
	hidden := func(why string) error {
		return heddle.Wrap(heddle.Quarantined, "bring back", "nic/nic1", errors.New(why), "")
	}
	busy := heddle.Wrap(heddle.KernelRefused, "remove", "link/eth0", unix.EBUSY, "")
	for _, step := range []struct {
		err  error
		code heddle.Code
		why  string
	}{
		{busy, heddle.KernelRefused, ""},
		{hidden("it is hidden"), heddle.Quarantined, "it is hidden"},
		{busy, heddle.KernelRefused, "it is hidden"},
		{unix.ENOBUFS, "", "it is hidden"},
		{errors.Join(busy, nil, errors.Join(hidden("it is elsewhere"))), heddle.Quarantined, "it is elsewhere"},
		{nil, "", ""},
	} {
		err := q.update(id, step.err)
		if (err == nil) != (step.err == nil) {
			t.Errorf("%v became %v", step.err, err)
		}
		var known *heddle.Error
		if errors.As(err, &known); step.code != "" && known.Code != step.code {
			t.Errorf("%v became %v", step.err, err)
		}
		if why, is := q.reasonFor(id); why != step.why || is != (step.why != "") {
			t.Errorf("after %v: in quarantine %v: %q, want %q", step.err, is, why, step.why)
		}
	}
}

// TestQuarantinePause: a search takes at most a tenth of the time. The wait for namespaces to end
// is no search; otherwise one hidden NIC would delay the return of all others by a minute.
func TestQuarantinePause(t *testing.T) {
	for _, c := range []struct {
		took time.Duration
		stay int
		want time.Duration
	}{
		{0, 0, 5 * time.Second},
		{5100 * time.Millisecond, 1, 5 * time.Second},
		{3*5*time.Second + time.Second, 3, 10 * time.Second},
		{2 * time.Second, 1, 5 * time.Second}, // it did not wait
		{2 * time.Second, 0, 20 * time.Second},
		{7 * time.Second, 0, 30 * time.Second},
	} {
		if got := quarantinePause(c.took, c.stay); got != c.want {
			t.Errorf("after %s, with %d that stay: %s, want %s", c.took, c.stay, got, c.want)
		}
	}
}
