package coexist_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestIdleAdmitIsCheap measures what Admit takes of a processor when nothing has
// changed, beside five hundred chains of networks of our own.
func TestIdleAdmitIsCheap(t *testing.T) {
	need(t, "iptables-legacy", "ip6tables-legacy")
	l := newLab(t)
	var ours strings.Builder
	for i := range 500 {
		fmt.Fprintf(&ours, "add chain inet heddle from-%d\n", i)
	}
	l.nft(t, "table inet heddle {}\n"+ours.String()+firewalldLike)
	l.admit(t)
	idle := l.timed(t, 1000, nil)
	read := l.timed(t, 20, func() { l.nft(t, "add chain inet heddle again") })
	t.Logf("Admit takes %v when nothing changed, %v when something did that needs no rule", idle, read)
	if idle > 2*time.Millisecond {
		t.Errorf("an idle Admit takes %v", idle)
	}
	for _, p := range programs[2:] {
		l.dropForward(t, p.name)
	}
	l.admit(t)
	t.Logf("Admit takes %v when both legacy tables are in use and nothing changed", l.timed(t, 20, nil))
}

// timed is the mean of rounds of Admit, each after before, in time of the processor:
// others who have it do not count.
func (l *lab) timed(t *testing.T, rounds int, before func()) (mean time.Duration) {
	t.Helper()
	l.admit(t)
	var total time.Duration
	l.in(t, "host", func() {
		for range rounds {
			if before != nil {
				before()
			}
			start := spent(t)
			if changed, err := l.c.Admit(); err != nil || len(changed) != 0 {
				t.Errorf("Admit: %q, %v", changed, err)
			}
			total += spent(t) - start
		}
	})
	return total / time.Duration(rounds)
}

// spent is how long this process and the programs it has run had a processor.
func spent(t *testing.T) time.Duration {
	t.Helper()
	var own unix.Timespec
	var programs unix.Rusage
	if err := errors.Join(unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &own), unix.Getrusage(unix.RUSAGE_CHILDREN, &programs)); err != nil {
		t.Error(err)
	}
	return time.Duration(own.Nano() + programs.Utime.Nano() + programs.Stime.Nano())
}
