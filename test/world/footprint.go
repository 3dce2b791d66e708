package world

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// Footprint is all that the host's namespace holds: what Dump lists, every
// setting below net, and the mounts. Taken before and after, it shows what was
// left behind or lost.
type Footprint map[string]int // line -> how often

// NewFootprint looks at the host. Forwarding stays on when the agent has turned
// it on, and changes the settings of all devices; so it is turned on first.
func NewFootprint(t testing.TB) Footprint {
	t.Helper()
	cell.Sh(t, "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
	return look(t)
}

// Unchanged fails the test if the host is not as it was.
func (before Footprint) Unchanged(t testing.TB) {
	t.Helper()
	after := look(t)
	for line, n := range after {
		if n > before[line] {
			t.Errorf("left on the host: %s", line)
		}
	}
	for line, n := range before {
		if n > after[line] {
			t.Errorf("gone from the host: %s", line)
		}
	}
}

func look(t testing.TB) Footprint {
	t.Helper()
	f := Footprint{}
	for line := range strings.Lines(Place{Name: "host"}.Dump(t)) {
		f[strings.TrimSpace(line)]++
	}
	mounts, err := os.ReadFile("/proc/thread-self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		f["mount "+unnumberedMount(line)]++
	}
	if err := f.settings(); err != nil {
		t.Fatal(err)
	}
	return f
}

// unnumberedMount leaves out what a mount made anew has of its own: the numbers
// of the mount, its parent, its group and its namespace (proc_pid_mountinfo(5)).
func unnumberedMount(line string) string {
	mount, source, _ := strings.Cut(line, " - ")
	words := strings.Fields(mount)
	if len(words) < 6 {
		return line
	}
	root, _, _ := strings.Cut(words[3], ":[")
	return strings.Join([]string{words[4], root, words[5], strings.TrimSpace(source)}, " ")
}

// unsteady is a setting that follows the traffic.
const unsteady = "/proc/sys/net/netfilter/nf_conntrack_count"

// settings adds all that can be read below net; what can only be written, or
// was never set, gives no line.
func (f Footprint) settings() error {
	return filepath.WalkDir("/proc/sys/net", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == unsteady {
			return err
		}
		if value, err := os.ReadFile(path); err == nil {
			f[fmt.Sprintf("setting %s = %s", path, strings.TrimSpace(string(value)))]++
		}
		return nil
	})
}
