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

// FindNetns finds a living network namespace by its inode number and its cookie, by any of the
// ways. It returns nil if there is none, or none that can be seen from here. It fails if it could
// not look. A cookie of 0 is not compared.
//
// FindNetns waits for searches that have all namespaces open: a namespace that has ended would seem
// to live by these open files. If a path leads to such a number and cannot be opened in time, it fails
// as well: the namespace may be there.
func FindNetns(inode, cookie uint64) (*Netns, error) {
	searching.Lock()
	defer searching.Unlock()
	var found *Netns
	slow := false
	name := fmt.Sprintf("net:[%d]", inode)
	ways(func(n, path string) bool {
		if n != name {
			return true
		}
		at := openInTime(path)
		if at == nil {
			slow = slow || slowPaths.has(path)
			return true
		}
		if at.ino == inode && at.Is(inode, cookie) {
			found = at
			return false
		}
		at.Close()
		return true
	})
	switch {
	case found != nil:
		return found, nil
	case slow:
		return nil, heddle.Errorf(heddle.KernelRefused, "search", "namespace "+name, "a file system on the way does not answer",
			"look which mount hangs; the agent tries again")
	}
	return nil, checkFileLimit()
}

// searching is held while every namespace of the host is open, and while one is looked for. A
// process may open only a limited number of files, and many endpoints may be removed at the same
// time.
var searching sync.Mutex

// allNamespaces opens once every network namespace that can be found from here. The caller closes
// them soon, because nobody else can search meanwhile. It fails if it could not look.
func allNamespaces() (namespaces, error) {
	searching.Lock()
	all, err := openNamespaces()
	if err != nil {
		all.close()
		return nil, err
	}
	return all, nil
}

// openNamespaces is allNamespaces for who holds searching. What it has opened is to be closed also if
// it fails.
func openNamespaces() (namespaces, error) {
	all := namespaces{}
	ways(func(name, path string) bool {
		if all[name] == nil {
			if n := openInTime(path); n != nil {
				all.add(n)
			}
		}
		return true
	})
	return all, checkFileLimit()
}

// spareFiles is how many more files this process must be able to open after a search. With fewer, a
// namespace may exist that the search did not find.
const spareFiles = 64

// checkFileLimit fails unless this process can open that many more files.
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

// namespaces are open namespaces by their names in /proc ("net:[4026531840]").
type namespaces map[string]*Netns

// add adds the namespace, and owns it from then on. It closes a namespace that is there already.
func (all namespaces) add(n *Netns) {
	name := fmt.Sprintf("net:[%d]", n.ino)
	if all[name] != nil {
		n.Close()
		return
	}
	all[name] = n
}

// close closes all that was opened, and lets the next caller search.
func (all namespaces) close() {
	defer searching.Unlock()
	for _, n := range all {
		n.Close()
	}
}

// ways lists the paths into network namespaces until yield has enough: through processes and their
// threads, through the mounts of every mount namespace, and through the files that processes hold
// open (proc(5), namespaces(7)). All paths into one namespace have the same name. The cheap paths
// come first.
func ways(yield func(name, path string) bool) {
	processes := processes()
	for _, p := range processes {
		if !wayTo(p+"/ns/net", yield) {
			return
		}
	}
	threads := threads(processes)
	for _, t := range threads {
		if !wayTo(t+"/ns/net", yield) {
			return
		}
	}
	seen := map[string]bool{}
	for _, t := range threads { // each may have a mount namespace of its own (CLONE_FS of unshare(2))
		mounts, err := os.Readlink(t + "/ns/mnt")
		if err != nil || seen[mounts] {
			continue
		}
		if !mounted(t, yield) {
			return
		}
		_, err = os.Stat(t)
		seen[mounts] = err == nil // a thread that has ended meanwhile did not lead there
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

// threads are the folders of all threads of processes.
func threads(processes []string) (all []string) {
	for _, p := range processes {
		for _, t := range entries(p + "/task") {
			all = append(all, p+"/task/"+t)
		}
	}
	return all
}

// entries lists the names in a folder; none if the folder is gone.
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

// opened yields the namespaces among the files that a process holds open. A namespace that was
// opened through its mount has the path of the mount as its name, so the file itself is examined.
// AT_STATX_DONT_SYNC avoids a request to file systems that may not answer.
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

// mounted yields the namespaces that are mounted where a thread can see them. It stops at the
// first mount that hangs, since each such mount costs a second.
func mounted(thread string, yield func(name, path string) bool) bool {
	text, _ := os.ReadFile(thread + "/mountinfo")
	for line := range strings.Lines(string(text)) {
		// the root of the mount is the fourth field, and the mount point the fifth
		f := strings.Fields(line)
		if len(f) < 5 || !strings.HasPrefix(f[3], "net:[") {
			continue
		}
		path := thread + "/root" + unescape(f[4])
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

// Inhabited reports whether the namespace has a process that can be seen from here.
func (n *Netns) Inhabited() bool {
	own := fmt.Sprintf("net:[%d]", n.ino)
	return slices.ContainsFunc(processes(), func(p string) bool {
		return !wayTo(p+"/ns/net", func(name, _ string) bool { return name != own })
	})
}
