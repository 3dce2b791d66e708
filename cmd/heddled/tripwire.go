package main

import (
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
)

// tripwire kills the process before its Nth step, where N is HEDDLE_CRASH_AT. So the crash
// tests visit every step, whatever the steps are. Without the variable there is none.
// HEDDLE_CRASH_AFTER names a file; steps are counted from the moment it exists.
func tripwire() func(string) error {
	n, err := strconv.ParseInt(os.Getenv("HEDDLE_CRASH_AT"), 10, 64)
	if err != nil {
		return nil
	}
	armed := os.Getenv("HEDDLE_CRASH_AFTER")
	var count atomic.Int64
	return func(string) error {
		if armed != "" {
			if _, err := os.Stat(armed); err != nil {
				return nil
			}
		}
		if count.Add(1) == n {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
		return nil
	}
}
