package kernel

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// FindNetns finds a living network namespace by its inode number: among those
// of the processes, and among those that are mounted (proc(5), mountinfo). It
// returns nil if there is none, or none that can be seen from here.
func FindNetns(inode uint64) *Netns {
	name := fmt.Sprintf("net:[%d]", inode)
	for path := range processesIn(name) {
		if n, err := OpenNetns(path); err == nil && n.ino == inode {
			return n
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(mounts)) {
		// the root of the mount is the fourth field, the mount point the fifth
		f := strings.Fields(line)
		if len(f) > 4 && f[3] == name {
			if n, err := OpenNetns(f[4]); err == nil && n.ino == inode {
				return n
			}
		}
	}
	return nil
}

// processesIn are the ways into a namespace by the processes that are in it
// (namespaces(7)).
func processesIn(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		paths, _ := filepath.Glob("/proc/[0-9]*/ns/net")
		for _, path := range paths {
			if link, err := os.Readlink(path); err == nil && link == name && !yield(path) {
				return
			}
		}
	}
}

// Inhabited reports whether a process is in the namespace that can be seen from here.
func (n *Netns) Inhabited() bool {
	for range processesIn(fmt.Sprintf("net:[%d]", n.ino)) {
		return true
	}
	return false
}
