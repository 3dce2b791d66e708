package lab

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/heddle-network/heddle"
)

// besideGroup is the group of a process that is beside the hosts. No host has such a name.
const besideGroup = "beside.hosts"

// Beside moves this process, and what it starts from then on, into a group of its own beside those of the hosts, which weighs as a process
// that is so much less nice. In groups, and in sessions (sched(7), autogroup), what a niceness says counts among their own processes alone:
// this is how a process goes ahead of all that the hosts run. The returned function moves it back to where it was; it comes before Down.
// Without a cpu controller nothing is done.
func (l *Lab) Beside(ahead int) (leave func(), err error) {
	var left []string // where it was
	leave = sync.OnceFunc(func() {
		for _, dir := range left {
			join(dir)
		}
	})
	for _, h := range hierarchies() {
		group := filepath.Join(h.point, groupName(l.folder))
		if !hasWeight(group) {
			continue
		}
		dir := filepath.Join(group, besideGroup)
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			return leave, heddle.Wrap(heddle.LabFailed, "make cgroup", dir, err, "see the kernel's message")
		}
		copyCpuset(dir)
		weigh(dir, niceness()-ahead)
		was := filepath.Join(h.point, ownGroup(h))
		if err := join(dir); err != nil {
			leave()
			return leave, heddle.Wrap(heddle.LabFailed, "enter cgroup", dir, err, "see the kernel's message")
		}
		left = append(left, was)
	}
	return leave, nil
}

// hasWeight reports whether a group has a share of the processors.
func hasWeight(group string) bool {
	for _, file := range []string{"cpu.shares", "cpu.weight.nice"} {
		if _, err := os.Stat(filepath.Join(group, file)); err == nil {
			return true
		}
	}
	return false
}

// ownGroup is this process's group in a hierarchy, whose root is where it is mounted (cgroups(7)).
func ownGroup(h mounted) string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		if h.kind == "cgroup2" && number == "0" || h.kind != "cgroup2" && controllers != "" && hasWord(filepath.Base(h.point), controllers) {
			return path
		}
	}
	return ""
}

// hasWord reports whether two lists of controllers have one in common: "cpu,cpuacct" is mounted at cpu,cpuacct or at cpu.
func hasWord(a, b string) bool {
	for _, x := range strings.Split(a, ",") {
		for _, y := range strings.Split(b, ",") {
			if x == y {
				return true
			}
		}
	}
	return false
}
