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
	least        chan int64
	stop         chan struct{}
}

func beginUse(free int64) use {
	u := use{time.Now(), ownTime(), machineTime(), free, make(chan int64, 1), make(chan struct{})}
	go u.watch()
	return u
}

// watch looks for the least free memory, each second.
func (u use) watch() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	least := freeMemory()
	for {
		select {
		case <-ticker.C:
			least = min(least, freeMemory())
		case <-u.stop:
			u.least <- min(least, freeMemory())
			return
		}
	}
}

// end takes the difference.
func (u use) end(r *Round) {
	passed := time.Since(u.at)
	r.Processor = float64(ownTime()-u.own) / float64(passed)
	r.Machine = float64(machineTime()-u.machine) / float64(passed)
	close(u.stop)
	if least := <-u.least; r.Users >= 500 {
		r.MemoryPerUser = max(0, u.free-least) / int64(r.Users)
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
		if i == 0 || i == 4 || i == 5 || i > 7 { // the name, idle, iowait, steal, and guests, which user has already
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
