package main

import (
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
)

// patrol is how often the host is compared with the plans, if HEDDLE_PATROL says so. The crash tests
// wait for what that finds, at every step anew.
func patrol() time.Duration {
	d, _ := time.ParseDuration(os.Getenv("HEDDLE_PATROL")) // 0 is the agent's own choice
	return d
}

// tripwire returns a function that kills the process at its Nth call, where N is
// HEDDLE_CRASH_AT, or nil without this variable. The crash tests use it to crash before
// every step. HEDDLE_CRASH_AFTER names a file; steps are counted once it exists.
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
