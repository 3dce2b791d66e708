package round

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// use is what a machine had, and had used, when a crowd began to play.
type use struct {
	at           time.Time
	own, machine time.Duration
	free         int64 // before anybody was attached
}

func beginUse(free int64) use { return use{time.Now(), ownTime(), machineTime(), free} }

// end takes the difference, while all connections may still be open.
func (u use) end(r *Round) {
	passed := time.Since(u.at)
	r.Processor = float64(ownTime()-u.own) / float64(passed)
	r.Machine = float64(machineTime()-u.machine) / float64(passed)
	if r.Users >= 500 {
		r.MemoryPerUser = max(0, u.free-freeMemory()) / int64(r.Users)
	}
}

// ownTime is the processor time that this program has used.
func ownTime() time.Duration {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// machineTime is the time for which the machine's processors were not idle (proc_stat(5)).
func machineTime() (busy time.Duration) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) {
		if i == 0 || i == 4 || i == 5 || i > 8 { // the name, idle, iowait, and guests, which user has already
			continue
		}
		ticks, _ := strconv.ParseInt(field, 10, 64)
		busy += time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100
	}
	return busy
}

// freeMemory is how much memory the machine could give to programs, in bytes (MemAvailable).
func freeMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}
