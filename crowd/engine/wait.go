package engine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// argContainer has heddle be the first process of a user's container.
const argContainer = "crowd-container"

// apart is how long after another a container ends when the crowd was killed: clients have less trouble with that than with all at once.
const apart = 100 * time.Millisecond

// Dispatch makes this process the first one of a user's container, if it was started as that: it does nothing until the crowd
// has ended. It returns if it is another one.
func Dispatch(args []string) {
	if len(args) != 1 || args[0] != argContainer || os.Getpid() != 1 {
		return
	}
	first, err := await(living, unix.LOCK_SH)
	var last *os.File
	if err == nil {
		last, err = await(turn, unix.LOCK_EX)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "wait for the end of the crowd:", err)
		os.Exit(1)
	}
	time.Sleep(apart)
	runtime.KeepAlive(first)
	runtime.KeepAlive(last) // until now: its end lets go of the lock
	os.Exit(0)
}

// await waits for a lock of a file of the gate.
func await(name string, how int) (*os.File, error) {
	f, err := os.Open("/" + name)
	if err != nil {
		return nil, err
	}
	return f, lock(f, how)
}

// lock waits for a lock of a file.
func lock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
