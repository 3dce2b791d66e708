package round

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// ahead is the niceness of this program while a crowd plays. People do not wait for a processor: what else the machine
// does, such as the agent's housekeeping, would make them late.
const ahead = -10

// goAhead gives all threads of this program that niceness, and returns what gives them back the one that they had. A
// program that may not do so stays as it is: the lag tells what that costs (setpriority(2), CAP_SYS_NICE).
func goAhead() (back func()) {
	before, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return func() {}
	}
	setNice(ahead)
	return func() { setNice(20 - before) } // the system call returns 40 to 1 for -20 to 19
}

// setNice sets the niceness of each thread. A thread that begins later has that of the one that began it.
func setNice(to int) {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads {
		if number, err := strconv.Atoi(t.Name()); err == nil {
			unix.Setpriority(unix.PRIO_PROCESS, number, to)
		}
	}
}
