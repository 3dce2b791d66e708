package lab

import (
	"math"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// weigh gives the lab's group the weight of one process as nice as its maker. To the kernel a group is
// one process of niceness 0, whatever is in it: the niceness of what is inside counts inside only. The
// number of hosts does not matter. A large lab would leave the machine's user nothing otherwise, and
// nice gives it more. The hosts share what the lab gets.
//
// Without a cpu controller there is no such file, and niceness counts as everywhere.
func weigh(group string, nice int) {
	for file, value := range map[string]int{"cpu.shares": shares(nice), "cpu.weight.nice": nice} {
		os.WriteFile(filepath.Join(group, file), []byte(strconv.Itoa(value)), 0o644)
	}
}

// shares is the kernel's weight of a process of this niceness (sched_prio_to_weight): each step is a
// quarter more or less.
func shares(nice int) int { return int(math.Round(1024 * math.Pow(1.25, float64(-nice)))) }

// niceness returns how nice this process is, from -20 to 19. The system call avoids negative results.
func niceness() int {
	n, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return 0
	}
	return 20 - n
}
