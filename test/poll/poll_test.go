package poll_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/poll"
)

const short, long = 20 * time.Millisecond, time.Minute

var errNo = errors.New("no")

func TestUntil(t *testing.T) {
	for name, c := range map[string]struct {
		limit time.Duration
		tries []error // the last one is repeated
		want  error
		made  int // 0: as many as fit
	}{
		"at once":        {0, []error{nil}, nil, 1},
		"the third time": {long, []error{errNo, errNo, nil}, nil, 3},
		"never":          {short, []error{errNo}, errNo, 0},
		"for good":       {long, []error{errNo, poll.Final(errNo)}, errNo, 2},
		"no failure":     {long, []error{errNo, poll.Final(nil)}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			made := 0
			took, err := poll.Until(c.limit, time.Millisecond, func() error {
				made++
				return c.tries[min(made, len(c.tries))-1]
			})
			if err != c.want || c.made != 0 && made != c.made || c.made == 0 && (made < 2 || took < short) {
				t.Errorf("%v after %d tries and %v", err, made, took)
			}
		})
	}
}

// TestLateSuccess: a try that began in time counts, however long it takes.
func TestLateSuccess(t *testing.T) {
	took, err := poll.Until(short, time.Millisecond, func() error { time.Sleep(2 * short); return nil })
	if err != nil || took < short {
		t.Error(took, err)
	}
}

// failing notes how a test is ended.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) { f.said = fmt.Sprintf(format, args...) }

func TestFor(t *testing.T) {
	f, n := &failing{}, 0
	poll.For(f, long, time.Millisecond, "the third time", func() bool { n++; return n == 3 })
	if f.said != "" || n != 3 {
		t.Errorf("%d tries: %s", n, f.said)
	}
	poll.For(f, short, time.Millisecond, "the moon falls", func() bool { return false })
	if !strings.HasPrefix(f.said, "the moon falls: not within 20ms (waited ") {
		t.Errorf("said %q", f.said)
	}
}
