package kernel

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// FindNetns finds a living network namespace by its inode number and its cookie,
// wherever the host has it: see ways. It returns nil if there is none, or none that
// can be seen from here, and fails if it could not look. A cookie of 0 is not compared.
// It waits for who has all namespaces open just now: by these files one would seem to
// live that has ended.
func FindNetns(inode, cookie uint64) (*Netns, error) {
	searching.Lock()
	defer searching.Unlock()
	var found *Netns
	name := fmt.Sprintf("net:[%d]", inode)
	ways(func(n, path string) bool {
		if n != name {
			return true
		}
		at := openInTime(path)
		if at == nil {
			return true
		}
		if at.ino == inode && at.Is(inode, cookie) {
			found = at
			return false
		}
		at.Close()
		return true
	})
	if found == nil {
		return nil, checkFileLimit()
	}
	return found, nil
}

// searching is held while every namespace of the host is open, and while one is looked
// for: a process may open only so many files, and many endpoints may go at a time.
var searching sync.Mutex

// allNamespaces opens every network namespace that can be found from here, each once. Close
// them soon: meanwhile nobody else searches. It fails if it could not look.
func allNamespaces() (namespaces, error) {
	searching.Lock()
	all := namespaces{}
	ways(func(name, path string) bool {
		if all[name] == nil {
			if n := openInTime(path); n != nil {
				all.add(n)
			}
		}
		return true
	})
	if err := checkFileLimit(); err != nil {
		all.close()
		return nil, err
	}
	return all, nil
}

// spareFiles is how many files this process can open after a search at least: with less,
// what was not found may be there.
const spareFiles = 64

// checkFileLimit fails unless there is room for so many.
func checkFileLimit() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if open := uint64(len(entries("/proc/self/fd"))); open == 0 || open+spareFiles > limit.Cur {
		return heddle.Errorf(heddle.KernelRefused, "search", "the host's network namespaces",
			fmt.Sprintf("the agent may have at most %d open files, and has %d", limit.Cur, open),
			"raise the agent's limit (LimitNOFILE= in its unit, 'ulimit -n' otherwise); it tries again")
	}
	return nil
}

// namespaces are open, each under its name in /proc ("net:[4026531840]").
type namespaces map[string]*Netns

// add takes the namespace over; one that is there already is closed.
func (all namespaces) add(n *Netns) {
	name := fmt.Sprintf("net:[%d]", n.ino)
	if all[name] != nil {
		n.Close()
		return
	}
	all[name] = n
}

// close closes all that everywhere opened, and lets the next one search.
func (all namespaces) close() {
	defer searching.Unlock()
	for _, n := range all {
		n.Close()
	}
}

// ways lists the paths into network namespaces until yield has enough: by processes
// and their threads, by the mounts of every mount namespace, and by the files that
// processes hold open (proc(5), namespaces(7)). The name is what all paths into one
// namespace have in common. The cheap ones come first.
func ways(yield func(name, path string) bool) {
	processes := processes()
	for _, p := range processes {
		if !wayTo(p+"/ns/net", yield) {
			return
		}
	}
	for _, p := range processes {
		for _, thread := range entries(p + "/task") {
			if !wayTo(p+"/task/"+thread+"/ns/net", yield) {
				return
			}
		}
	}
	seen := map[string]bool{}
	for _, p := range processes {
		mounts, err := os.Readlink(p + "/ns/mnt")
		if err != nil || seen[mounts] {
			continue
		}
		seen[mounts] = true
		if !mounted(p, yield) {
			return
		}
	}
	for _, p := range processes {
		if !opened(p, yield) {
			return
		}
	}
}

// processes are the folders of all processes that can be seen from here.
func processes() (all []string) {
	for _, name := range entries("/proc") {
		if name[0] >= '0' && name[0] <= '9' {
			all = append(all, "/proc/"+name)
		}
	}
	return all
}

// entries lists a folder's names; none if it is gone.
func entries(path string) []string {
	d, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	return names
}

// wayTo yields a link to a network namespace.
func wayTo(path string, yield func(name, path string) bool) bool {
	name, err := os.Readlink(path)
	return err != nil || yield(name, path)
}

// opened yields those of the files that a process holds open. One that was opened where a
// namespace is mounted is called by that path, so the file itself is looked at, without
// asking file systems that need not answer (AT_STATX_DONT_SYNC).
func opened(process string, yield func(name, path string) bool) bool {
	var own, st unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, "/proc/self/ns/net", 0, unix.STATX_INO, &own) != nil {
		return true
	}
	for _, number := range entries(process + "/fd") {
		path := process + "/fd/" + number
		to, err := os.Readlink(path)
		if err != nil || !strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "net:[") ||
			unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_INO, &st) != nil ||
			st.Dev_major != own.Dev_major || st.Dev_minor != own.Dev_minor {
			continue
		}
		if !yield(fmt.Sprintf("net:[%d]", st.Ino), path) { // another kind of namespace is refused when it is opened
			return false
		}
	}
	return true
}

// mounted yields the namespaces that are mounted where a process can see them: no more
// once one hangs, for each that does would cost a second.
func mounted(process string, yield func(name, path string) bool) bool {
	text, _ := os.ReadFile(process + "/mountinfo")
	for line := range strings.Lines(string(text)) {
		// the root of the mount is the fourth field, the mount point the fifth
		f := strings.Fields(line)
		if len(f) < 5 || !strings.HasPrefix(f[3], "net:[") {
			continue
		}
		path := process + "/root" + unescape(f[4])
		if !yield(f[3], path) {
			return false
		}
		if slowPaths.has(path) {
			return true
		}
	}
	return true
}

// unescape reads the octal escapes of a mount point (proc_pid_mountinfo(5)).
func unescape(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		if s[0] == '\\' && len(s) >= 4 {
			if c, err := strconv.ParseUint(s[1:4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				s = s[4:]
				continue
			}
		}
		b.WriteByte(s[0])
		s = s[1:]
	}
	return b.String()
}

// Inhabited reports whether a process is in the namespace that can be seen from here.
func (n *Netns) Inhabited() bool {
	own := fmt.Sprintf("net:[%d]", n.ino)
	return slices.ContainsFunc(processes(), func(p string) bool {
		return !wayTo(p+"/ns/net", func(name, _ string) bool { return name != own })
	})
}
