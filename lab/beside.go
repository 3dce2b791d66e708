package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/heddle-network/heddle"
)

// besideGroup is the group of a process that is beside the hosts. No host has such a name.
const besideGroup = "beside.hosts"

// Beside moves this process, and what it starts from then on, into a group of its own beside those of the hosts, which weighs as a process
// that is so much less nice; so does the lab among all others of the machine. Between groups, and between sessions (sched(7), autogroup),
// niceness does not count: this is how a process goes ahead of all that the hosts run. The returned function ends that; it comes before
// Down. Without a cpu controller, or where there would be no way back, nothing is done.
func (l *Lab) Beside(ahead int) (leave func(), err error) {
	nice := niceness()
	for _, h := range hierarchies() { // one has the controller
		group, was := filepath.Join(h.point, groupName(l.folder)), filepath.Join(h.point, ownGroup(h))
		if !hasWeight(group) || !isGroup(was) {
			continue
		}
		leave := sync.OnceFunc(func() {
			weigh(group, nice)
			for join(was) != nil && was != h.point { // it may be gone
				was = filepath.Dir(was)
			}
		})
		dir := filepath.Join(group, besideGroup)
		err := os.Mkdir(dir, 0o755)
		if err == nil || os.IsExist(err) {
			copyCpuset(dir)
			weigh(group, max(-20, nice-ahead))
			weigh(dir, max(-20, nice-ahead))
			err = join(dir)
		}
		if err != nil {
			leave()
			return nil, heddle.Wrap(heddle.LabFailed, "enter cgroup", dir, err, "see the kernel's message")
		}
		return leave, nil
	}
	return func() {}, nil
}

// isGroup reports whether processes can be moved there.
func isGroup(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.procs"))
	return err == nil
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

// ownGroup is this process's group in a hierarchy, as it is below the root of that (cgroups(7)).
func ownGroup(h mounted) string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		if h.kind == "cgroup2" && number == "0" || h.kind != "cgroup2" && slices.Contains(strings.Split(controllers, ","), "cpu") {
			return path
		}
	}
	return ""
}
