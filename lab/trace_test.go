package lab_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/poll"
)

// survey lists what a lab could leave on the machine: mounts, links, routes,
// namespaces in use, files where hosts have theirs, and settings.
func survey(t testing.TB) []string {
	t.Helper()
	var all []string
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, prefixed("mount ", strings.Split(string(mounts), "\n"))...)
	for _, argv := range [][]string{{"ip", "-o", "link"}, {"ip", "-o", "address"}, {"ip", "route"}, {"ip", "-6", "route"}} {
		out, err := exec.Command(argv[0], argv[1:]...).Output()
		if err != nil {
			t.Fatal(argv, err)
		}
		all = append(all, prefixed(strings.Join(argv, " ")+": ", strings.Split(volatile.ReplaceAllString(string(out), ""), "\n"))...)
	}
	for _, dir := range []string{"/run", "/run/netns", "/run/heddle-lab", "/etc", "/var/lib", "/var/lib/docker", "/var/lib/heddle"} {
		names, _ := filepath.Glob(dir + "/*")
		all = append(all, prefixed("file ", names)...)
	}
	for _, key := range []string{"kernel/hostname", "net/ipv4/ip_forward", "net/ipv4/tcp_congestion_control"} {
		value, _ := os.ReadFile("/proc/sys/" + key)
		all = append(all, key+"="+strings.TrimSpace(string(value)))
	}
	slices.Sort(all)
	return all
}

var volatile = regexp.MustCompile(`(valid_lft|preferred_lft|expires) \w+`)

func prefixed(p string, lines []string) []string {
	var out []string
	for _, l := range lines {
		out = append(out, p+l)
	}
	return out
}

// cgroups lists the cgroups of labs in the folder. Those of other tests do not matter: the hierarchies are the
// machine's.
func cgroups(dir string) (all []string) {
	var on unix.Stat_t
	unix.Stat(dir, &on)
	for _, pattern := range []string{"/sys/fs/cgroup/*/heddle-lab-*", "/sys/fs/cgroup/heddle-lab-*"} {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			lab, hash, _ := cutLast(strings.TrimPrefix(filepath.Base(name), "heddle-lab-"), "-")
			sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", filepath.Join(dir, lab), on.Dev))
			if hash == hex.EncodeToString(sum[:3]) {
				all = append(all, "cgroup "+name)
			}
		}
	}
	return all
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// noTrace compares the machine with an earlier survey. The rest of a network
// namespace is taken apart a little after its last process, hence the wait.
func noTrace(t testing.TB, before []string, dir string) {
	t.Helper()
	var left []string
	poll.Until(time.Minute, 50*time.Millisecond, poll.True(func() bool {
		left = difference(survey(t), before)
		left = append(left, prefixed("missing: ", difference(before, survey(t)))...)
		left = append(left, processesOf(dir)...)
		left = append(left, cgroups(dir)...)
		if names, _ := filepath.Glob(dir + "/*"); len(names) > 0 {
			left = append(left, names...)
		}
		return len(left) == 0
	}))
	if len(left) > 0 {
		t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}

func difference(a, b []string) []string {
	var out []string
	for _, s := range a {
		if i := sort.SearchStrings(b, s); i == len(b) || b[i] != s {
			out = append(out, s)
		}
	}
	return out
}

// processesOf lists processes that the folder's labs started, zombies too, and
// those that live in any but our own PID namespace.
func processesOf(dir string) []string {
	var found []string
	own, _ := os.Readlink("/proc/self/ns/pid")
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, e := range entries {
		args, _ := os.ReadFile(e + "/cmdline")
		ns, err := os.Readlink(e + "/ns/pid")
		root, _ := os.ReadFile(e + "/mountinfo")
		ours := strings.Contains(string(args), dir+"/") || strings.Contains(string(root), dir)
		if ours && (err == nil && ns != own || strings.Contains(string(args), "lab-")) {
			found = append(found, fmt.Sprintf("process %s: %q", filepath.Base(e), args))
		}
	}
	return found
}
