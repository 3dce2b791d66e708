package world

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// Footprint is the state of the host's namespace: what Dump lists, every setting below net, and
// the mounts. Two footprints show what was left behind or lost.
type Footprint map[string]int // line -> how often

// NewFootprint takes the host's footprint. It turns forwarding on first: the agent leaves
// forwarding on, and this changes the settings of all devices.
func NewFootprint(t testing.TB) Footprint {
	t.Helper()
	cell.Sh(t, "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
	Soon(t, "the kernel has the routes of all IPv6 addresses", routed)
	return look(t)
}

// routed returns an error if a link that has a carrier lacks the local route of one of its IPv6 addresses: the kernel makes it up to a
// second later, when it has noticed the carrier (linkwatch_event and addrconf_notify).
func routed() error {
	addrs, err := netlink.AddrList(nil, unix.AF_INET6)
	if err != nil {
		return err
	}
	routes, err := netlink.RouteListFiltered(unix.AF_INET6, &netlink.Route{Table: unix.RT_TABLE_LOCAL}, netlink.RT_FILTER_TABLE)
	if err != nil {
		return err
	}
	for _, a := range addrs {
		l, err := netlink.LinkByIndex(a.LinkIndex)
		if err != nil || l.Attrs().RawFlags&unix.IFF_LOWER_UP == 0 {
			continue
		}
		if !slices.ContainsFunc(routes, func(r netlink.Route) bool { return r.Dst != nil && r.Dst.IP.Equal(a.IP) }) {
			return fmt.Errorf("%s of %s has none", a.IP, l.Attrs().Name)
		}
	}
	return nil
}

// Unchanged fails the test if the host is not as it was. It waits for what the kernel removes
// later.
func (before Footprint) Unchanged(t testing.TB) {
	t.Helper()
	var changes []string
	poll.Until(Patience, 100*time.Millisecond, poll.True(func() bool {
		changes = before.changes(look(t))
		return len(changes) == 0
	}))
	for i, c := range changes {
		if i == shown {
			t.Errorf("and %d more changes", len(changes)-shown)
			break
		}
		t.Error(c)
	}
}

func (before Footprint) changes(after Footprint) (changes []string) {
	for line, n := range after {
		if n > before[line] {
			changes = append(changes, "left on the host: "+line)
		}
	}
	for line, n := range before {
		if n > after[line] {
			changes = append(changes, "gone from the host: "+line)
		}
	}
	slices.Sort(changes)
	return changes
}

// shown is how many changes are reported: a link has some hundred settings.
const shown = 40

func look(t testing.TB) Footprint {
	t.Helper()
	f := Footprint{}
	for line := range strings.Lines(Netns{Name: "host"}.Dump(t)) {
		f[strings.TrimSpace(line)]++
	}
	if err := errors.Join(f.mounts(), f.settings()); err != nil {
		t.Fatal(err)
	}
	return f
}

// mounts adds the visible mounts. A mount that another one hides does not count.
func (f Footprint) mounts() error {
	table, err := os.ReadFile("/proc/thread-self/mountinfo")
	for line := range strings.Lines(string(table)) {
		mount, source, _ := strings.Cut(line, " - ")
		// proc_pid_mountinfo(5): number, parent, device, root, place, options
		words := strings.Fields(mount)
		var at unix.Statx_t
		if len(words) < 6 || unix.Statx(unix.AT_FDCWD, words[4], unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &at) != nil || fmt.Sprint(at.Mnt_id) != words[0] {
			continue
		}
		root, _, _ := strings.Cut(words[3], ":[") // without a namespace's number
		f[strings.Join([]string{"mount", words[4], root, words[5], strings.TrimSpace(source)}, " ")]++
	}
	return err
}

// unsteady is a setting whose value depends on the traffic.
const unsteady = "/proc/sys/net/netfilter/nf_conntrack_count"

// settings adds all readable settings below net.
func (f Footprint) settings() error {
	return filepath.WalkDir("/proc/sys/net", func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // its link was just deleted
		}
		if err != nil || d.IsDir() || path == unsteady {
			return err
		}
		if value, err := os.ReadFile(path); err == nil {
			f[fmt.Sprintf("setting %s = %s", path, strings.TrimSpace(string(value)))]++
		}
		return nil
	})
}
