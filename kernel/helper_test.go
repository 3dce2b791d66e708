package kernel

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
	"golang.org/x/sys/unix"
)

// init keeps the process's first thread for the test's main: a goroutine that
// ends on it in another namespace would leave it there for good.
func init() { runtime.LockOSThread() }

func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

const netnsDir = "/run/netns"

var roomCount atomic.Int32

// newNetns makes a network namespace that ip-netns(8) knows by name, and that is removed with the
// test.
func newNetns(t testing.TB, role string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("making network namespaces needs root")
	}
	name := fmt.Sprintf("k%s-%d-%d", role, os.Getpid(), roomCount.Add(1))
	path := filepath.Join(netnsDir, name)
	cell.Must(t, os.MkdirAll(netnsDir, 0o755))
	cell.Must(t, os.WriteFile(path, nil, 0o644))
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread dies with its namespace
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, "")
		}
		done <- err
	}()
	cell.Must(t, <-done)
	t.Cleanup(func() {
		unix.Unmount(path, unix.MNT_DETACH)
		os.Remove(path)
	})
	return name
}

func openNetns(t testing.TB, name string) *Netns {
	t.Helper()
	n, err := OpenNetns(filepath.Join(netnsDir, name))
	cell.Must(t, err)
	t.Cleanup(n.Close)
	return n
}

// room is a host and a container, each in a namespace of its own.
type room struct {
	t         testing.TB
	host, pod string
	k         *Kernel
	hostNS    *Netns
	podNS     *Netns
	monitors  []monitor
	lasting   map[string]string // lines without what is volatile in them
}

func newRoom(t testing.TB) *room {
	t.Helper()
	r := &room{t: t, host: newNetns(t, "host"), pod: newNetns(t, "pod"), lasting: map[string]string{}}
	r.hostNS, r.podNS = openNetns(t, r.host), openNetns(t, r.pod)
	cell.Must(t, r.hostNS.Do(func() (err error) {
		r.k, err = Open()
		return err
	}))
	t.Cleanup(func() { r.k.Close() })
	return r
}

// sh runs a script in the host's namespace and returns what it prints.
func (r *room) sh(script string) string {
	r.t.Helper()
	return r.output(script, "ip", "netns", "exec", r.host, "sh", "-e")
}

// output has a program read the input, and returns what it prints.
func (r *room) output(input string, program ...string) string {
	r.t.Helper()
	cmd := exec.Command(program[0], program[1:]...)
	cmd.Stdin = strings.NewReader(input)
	// complaints of ip(8), such as about a namespace of another test that is gone meanwhile, are
	// not part of its output
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%v: %s\n%s%s%v", program, input, out, complaints.String(), err)
	}
	return string(out)
}

// dump is the state of both namespaces as the tools show it, with volatile parts.
func (r *room) dump(sysctls ...string) string {
	r.t.Helper()
	return r.moving() + r.still(sysctls...)
}

// moving is the part of the state that the kernel changes by itself. It calls each tool once for all that it shows of a namespace:
// starting programs takes most of the time.
func (r *room) moving() string {
	r.t.Helper()
	var all strings.Builder
	for _, ns := range []string{r.host, r.pod} {
		for _, tool := range []struct{ call, shows string }{
			{"ip -d", "addr\nroute show table all\nrule\nneigh show nud permanent\n"},
			{"ip -6", "route show table all\nrule\n"},
			{"bridge -d", "fdb\nlink\n"},
		} {
			all.WriteString(r.output(tool.shows, append(strings.Fields(tool.call), "-n", ns, "-batch", "-")...))
		}
	}
	return all.String()
}

// still is the part of the state that only programs change: the host's firewall, and settings.
func (r *room) still(sysctls ...string) (all string) {
	r.t.Helper()
	cell.Must(r.t, r.hostNS.Do(func() error {
		out, err := exec.Command("nft", "-s", "list", "ruleset").Output()
		all = string(out)
		for _, name := range sysctls {
			value, err := os.ReadFile("/proc/sys/" + name)
			if err != nil {
				value = []byte("none\n")
			}
			all += string(value)
		}
		return err
	}))
	return all
}

// steady is the state when it no longer changes: the kernel adds the local route of an IPv6 address
// a little later (addrconf_verify_work), after a carrier was noticed.
func (r *room) steady(sysctls ...string) string {
	r.t.Helper()
	last, same := "", 0
	_, err := poll.Until(30*time.Second, 100*time.Millisecond, poll.True(func() bool {
		raw := r.moving()
		now := r.lasts(raw)
		if same++; now != last || unnoticed(raw) {
			same = 0
		}
		last = now
		return same >= 3
	}))
	if err != nil {
		r.t.Log("the state moves still")
	}
	return last + r.lasts(r.still(sysctls...))
}

// lasts is a text without what is volatile.
func (r *room) lasts(raw string) string {
	var all strings.Builder
	for l := range strings.Lines(raw) {
		lasting, known := r.lasting[l]
		if !known {
			lasting = volatile.ReplaceAllString(l, "")
			r.lasting[l] = lasting
		}
		all.WriteString(lasting)
	}
	return all.String()
}

// becomes reads the state until it is the wanted one, and otherwise fails the test: restored
// objects may be busy for a while, as above.
func (r *room) becomes(what, want string, sysctls ...string) {
	r.t.Helper()
	have := ""
	poll.Until(30*time.Second, 50*time.Millisecond, poll.True(func() bool {
		have = r.lasts(r.dump(sysctls...))
		return len(changes(want, have)) == 0
	}))
	sameText(r.t, what, want, have)
}

// unnoticed reports whether the kernel has not yet told its users about the carrier of a link that
// is up, or about its loss (linkwatch_event), or whether an address is still tentative.
func unnoticed(raw string) bool {
	for l := range strings.Lines(raw) {
		m := flags.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		all := strings.Split(m[1], ",")
		if slices.Contains(all, "UP") && slices.Contains(all, "LOWER_UP") == slices.Contains(all, "NO-CARRIER") {
			return true
		}
	}
	return strings.Contains(raw, " tentative")
}

// flags matches the flags of a link, as ip-link(8) shows them.
var flags = regexp.MustCompile(`^\d+: \S+: <([A-Z0-9_,-]*)>`)

// volatile matches what changes by itself meanwhile: timers, carriers (noticed up to a second
// late), and the multicast addresses that an interface listens to for good once it was up.
var volatile = regexp.MustCompile(`(?m)(nic[01]@far[01]: <BROADCAST,MULTICAST(,M-DOWN)?> mtu 1500) qdisc no(op|queue)|_timer +[0-9.]+|NO-CARRIER,|,LOWER_UP|,M-DOWN| linkdown| state (UP|DOWN|UNKNOWN|LOWERLAYERDOWN)|^33:33:.* self permanent\n`)

func sameText(t testing.TB, what, want, have string) {
	t.Helper()
	all := changes(want, have)
	for l, n := range all {
		if n < 0 {
			t.Errorf("%s: lost   %s", what, l)
		} else {
			t.Errorf("%s: gained %s", what, l)
		}
	}
	if len(all) > 0 {
		t.Fatalf("%s: the state is another", what)
	}
}

// changes counts the lines that are there more often than wanted, or less often (below 0), in any
// order.
func changes(want, have string) map[string]int {
	times := map[string]int{}
	for l := range strings.SplitSeq(want, "\n") {
		times[l]--
	}
	for l := range strings.SplitSeq(have, "\n") {
		times[l]++
	}
	maps.DeleteFunc(times, func(_ string, n int) bool { return n == 0 })
	return times
}

// volatileWords matches numbers that the kernel assigns.
var volatileWords = regexp.MustCompile(`(?m)(@if|link-netnsid |portid 0x|port_id 0x|port_no 0x|designated_port |root_id |bridge_id |designated_root |designated_bridge |expires |if)[0-9a-fx.:]+|^[0-9]+: `)
