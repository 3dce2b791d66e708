package agent

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

func TestUninterrupted(t *testing.T) {
	for fails, want := range map[int]error{0: nil, 3: nil, 2 * maxInterruptions: unix.EINTR} {
		tried := 0
		err := uninterrupted(func() error {
			if tried++; tried <= fails {
				return fmt.Errorf("fallocate: %w", unix.EINTR)
			}
			return nil
		})
		if (err == nil) != (want == nil) {
			t.Errorf("interrupted %d times: %v", fails, err)
		}
	}
	tried := 0
	if err := uninterrupted(func() error { tried++; return unix.ENOSPC }); err != unix.ENOSPC || tried != 1 {
		t.Errorf("another error: tried %d times, %v", tried, err)
	}
}
