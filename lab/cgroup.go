package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// leaf is the group of a host's own processes on cgroup v2. A group with controllers for
// its children may hold no process itself, and the host's root group gets such controllers
// as soon as a container daemon runs.
const leaf = "init"

// groupName is the lab's folder in every cgroup hierarchy. Two labs with the same name in
// different folders need different groups, since all mount namespaces share the
// hierarchies. The same path may be different folders in different mount namespaces, so
// the name depends on the file system of the folder, too.
func groupName(folder string) string {
	var s unix.Stat_t
	unix.Stat(filepath.Dir(folder), &s)
	h := sha256.Sum256(fmt.Appendf(nil, "%s %d", folder, s.Dev))
	return heddle.Mark + "-lab-" + filepath.Base(folder) + "-" + hex.EncodeToString(h[:3])
}

// hierarchies lists the mounted cgroup hierarchies, if any.
func hierarchies() []mounted {
	mounts, _ := readMounts()
	seen := map[string]bool{}
	var all []mounted
	for _, m := range mounts {
		if strings.HasPrefix(m.kind, "cgroup") && !seen[m.point] {
			seen[m.point] = true
			all = append(all, m)
		}
	}
	return all
}

// makeGroups makes a group for each host in each hierarchy that can be written. Those of a
// lab lie in one of its own, which is as nice as this process.
func makeGroups(lab string, hosts []string) error {
	for _, h := range hierarchies() {
		for _, group := range append([]string{""}, hosts...) {
			dir := filepath.Join(h.point, lab, group)
			err := os.Mkdir(dir, 0o755)
			if errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) {
				break
			}
			if err != nil && !os.IsExist(err) {
				return err
			}
			copyCpuset(dir)
			if group == "" {
				weigh(dir, niceness())
				delegateControllers(dir)
			}
		}
	}
	return nil
}

// copyCpuset copies the processors and memory nodes of the parent group: a new
// cpuset of cgroup v1 has none, and until then takes no process.
func copyCpuset(dir string) {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		above, err := os.ReadFile(filepath.Join(filepath.Dir(dir), name))
		if err == nil && strings.TrimSpace(string(above)) != "" {
			os.WriteFile(filepath.Join(dir, name), above, 0o644)
		}
	}
}

// delegateControllers gives the child groups all controllers that this group has (v2). A
// controller that the machine does not delegate is missing in the hosts.
func delegateControllers(dir string) {
	have, _ := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	for _, c := range strings.Fields(string(have)) {
		os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+c), 0o644)
	}
}

// joinGroup moves this process into its host's group.
func joinGroup(group string) error {
	for _, h := range hierarchies() {
		dir := filepath.Join(h.point, group)
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			continue
		}
		if err := join(dir); err != nil {
			return err
		}
	}
	return nil
}

// join moves this process, with all its threads, into the group.
func join(dir string) error {
	return os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0o644)
}

// bindGroups makes the host's group the root of each hierarchy it sees.
func bindGroups(group string) error {
	for _, h := range hierarchies() {
		dir := filepath.Join(h.point, group)
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			continue
		}
		if h.kind == "cgroup2" {
			makeLeaf(dir)
		}
		if err := unix.Mount(dir, h.point, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	return nil
}

func makeLeaf(dir string) {
	if os.Mkdir(filepath.Join(dir, leaf), 0o755) == nil && join(filepath.Join(dir, leaf)) == nil {
		delegateControllers(dir)
	}
}

// joinRoot moves a process that came in from outside into the host's group. If a hierarchy
// refuses it, the process stays where it was there, which only affects the accounting.
func joinRoot() {
	for _, h := range hierarchies() {
		if join(filepath.Join(h.point, leaf)) != nil {
			join(h.point)
		}
	}
}

// removeGroups removes the lab's groups, with all groups that daemons made below them.
func removeGroups(ctx context.Context, lab string) error {
	ctx, cancel := context.WithTimeout(ctx, groupTime)
	defer cancel()
	for _, h := range hierarchies() {
		for {
			err := removeTree(filepath.Join(h.point, lab))
			if err == nil {
				break
			}
			// The last process leaves its group a little after its end.
			if pause(ctx, 10*time.Millisecond) != nil {
				return err
			}
		}
	}
	return nil
}

// removeTree removes a group and those below it, deepest first. The kernel removes
// the files in them.
func removeTree(dir string) error {
	var groups []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			groups = append(groups, p)
		}
		return nil
	})
	for i := len(groups) - 1; i >= 0 && err == nil; i-- {
		if err = os.Remove(groups[i]); os.IsNotExist(err) {
			err = nil
		}
	}
	return err
}
