package round

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Ahead is by how much the niceness of this program is less while a crowd plays. People do not wait for a processor: what
// else the machine does, such as the agent's housekeeping, would make them late.
const Ahead = 10

// goAhead has all threads of this program, which are so nice, go ahead of others, and returns what ends that. A program
// that may not do so stays as it is: the lag tells what that costs (setpriority(2), CAP_SYS_NICE).
func goAhead(nice int) (back func()) {
	setNice(max(-20, nice-Ahead))
	return func() { setNice(nice) }
}

// setNice sets the niceness of all threads at once; one that begins later has that of the one that began it. The runtime lets none
// begin meanwhile, which nobody else can: the kernel copies the niceness before the thread is seen. Who may not is refused by the
// kernel before a second thread is changed. The runtime cannot do it in a program with cgo, which heddle is not: there nothing changes.
func setNice(to int) {
	syscall.AllThreadsSyscall(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, uintptr(to))
}

// niceness is that of a thread; 0 is the calling one.
func niceness(thread int) (int, error) {
	priority, err := unix.Getpriority(unix.PRIO_PROCESS, thread) // the system call returns 40 to 1 for -20 to 19
	return 20 - priority, err
}
