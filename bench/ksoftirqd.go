package bench

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// threads are the schedstat files of kernel threads.
type threads []string

// softirqThreads finds the threads ksoftirqd/N, which take over when softirqs do not finish.
func softirqThreads() (all threads) {
	names, _ := filepath.Glob("/proc/[0-9]*/comm") // the pattern is valid
	for _, name := range names {
		if strings.HasPrefix(firstLine(name), "ksoftirqd/") {
			all = append(all, filepath.Join(filepath.Dir(name), "schedstat"))
		}
	}
	return all
}

// nanoseconds is how long the threads have run. A file that cannot be read counts as zero: kernels
// without CONFIG_SCHED_INFO have no such file.
func (t threads) nanoseconds() (sum float64) {
	for _, name := range t {
		text, _ := os.ReadFile(name)
		if f := strings.Fields(string(text)); len(f) > 0 {
			v, _ := strconv.ParseFloat(f[0], 64)
			sum += v
		}
	}
	return sum
}
