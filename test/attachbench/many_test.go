package attachbench

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

// manyEnv says with how many endpoints BenchmarkMany ends.
const manyEnv = "HEDDLE_ENDPOINTS"

// BenchmarkMany attaches thousands of endpoints in one mode after the other, kills the agent among
// them, and removes them: what grows with their number shows in the rows.
func BenchmarkMany(b *testing.B) {
	cell.Need(b)
	many := 3000
	if soak.On() {
		many = 10000
	}
	if text := os.Getenv(manyEnv); text != "" {
		var err error
		many, err = strconv.Atoi(text)
		cell.Must(b, err)
	}
	raiseLimits(b, many)
	for _, n := range []heddle.Network{
		{Mode: "bridge", Subnets: []netip.Prefix{netip.MustParsePrefix("10.64.0.0/16"), netip.MustParsePrefix("fd64::/64")}},
		{Mode: "routed", Subnets: []netip.Prefix{netip.MustParsePrefix("10.65.0.0/16"), netip.MustParsePrefix("fd65::/64")}},
		{Mode: "macvlan", Parent: "lan0", Subnets: []netip.Prefix{netip.MustParsePrefix("10.66.0.0/16"), netip.MustParsePrefix("fd66::/64")}},
	} {
		b.Run(n.Mode, func(b *testing.B) { crowd(b, n, many) })
	}
}

// crowd is BenchmarkMany in one mode.
func crowd(b *testing.B, n heddle.Network, many int) {
	if n.Parent != "" {
		cell.Sh(b, "ip link add lan0 type veth peer name lan1; ip link set lan0 up; ip link set lan1 up; ip addr add 10.66.0.1/16 dev lan0; ip addr add fd66::1/64 dev lan0 nodad")
		b.Cleanup(func() { cell.TrySh("ip link del lan0") })
	}
	ctx, dir := context.Background(), "/run/many" // in memory, as an agent's run folder is
	cell.Must(b, os.MkdirAll(dir, 0o755))
	a := cell.Start(b, dir)
	n.Name = "many"
	_, _, err := a.CreateNetwork(ctx, n, false)
	cell.Must(b, err)
	spaces := make([]int, many)
	begin := time.Now()
	for i := range spaces {
		spaces[i] = namespace(b)
	}
	fmt.Printf("\n%s: %d namespaces in %v\n", n.Mode, many, time.Since(begin).Round(time.Millisecond))
	fmt.Printf("%-28s %8s %8s %8s %10s\n", "attaches", "p50 ms", "p99 ms", "max ms", "agent CPU")
	var all time.Duration
	for from := 0; from < many; from += 1000 {
		to := min(from+1000, many)
		took, cpu := make([]time.Duration, 0, to-from), cpuOf(b, a.Pid())
		for i := from; i < to; i++ {
			at := time.Now()
			_, err := a.Attach(ctx, heddle.AttachRequest{Network: "many", ID: member(i), Netns: path(spaces[i])})
			cell.Must(b, err)
			took = append(took, time.Since(at))
			all += took[len(took)-1]
		}
		fmt.Printf("%-28s %8.2f %8.2f %8.2f %8.2f ms\n", fmt.Sprintf("%d to %d", from, to), ms(quantile(took, 0.5)), ms(quantile(took, 0.99)),
			ms(quantile(took, 1)), ms(cpuOf(b, a.Pid())-cpu)/float64(to-from))
	}
	row("all attaches", all)
	fmt.Printf("%-28s %s\n", "agent's memory", cell.Sh(b, "grep VmRSS /proc/%d/status | tr -s ' \t' ' '", a.Pid()))
	at := time.Now()
	a.Kill()
	a = cell.Start(b, dir)
	row("death and return", time.Since(at))
	at = time.Now()
	_, err = a.Attach(ctx, heddle.AttachRequest{Network: "many", ID: member(many), Netns: path(namespace(b))})
	cell.Must(b, err)
	row("attach after it", time.Since(at))
	_, err = a.Detach(ctx, member(many))
	cell.Must(b, err)
	at = time.Now()
	a.AuditEmpty(b)
	row("audit", time.Since(at))
	for what, id := range map[string]heddle.EndpointID{"check of one": member(0), "check of all": {}} {
		at = time.Now()
		found, err := a.Check(ctx, id)
		cell.Must(b, err)
		if len(found) > 0 {
			b.Errorf("%s: %v", what, found[0])
		}
		row(what, time.Since(at))
	}
	alone := min(100, many)
	took := make([]time.Duration, alone)
	for i := range alone {
		one := time.Now()
		_, err := a.Detach(ctx, member(i))
		cell.Must(b, err)
		took[i] = time.Since(one)
	}
	fmt.Printf("%-28s %8.2f %8.2f %8.2f\n", fmt.Sprintf("%d detaches, one by one", alone), ms(quantile(took, 0.5)), ms(quantile(took, 0.99)), ms(quantile(took, 1)))
	at = time.Now()
	together(b, alone, many, func(i int) error {
		_, err := a.Detach(ctx, member(i))
		return err
	})
	row(fmt.Sprintf("%d detaches, %d callers", many-alone, callers), time.Since(at))
	at = time.Now()
	cell.Must(b, a.DeleteNetwork(ctx, "many"))
	a.AuditEmpty(b)
	row("network deleted, audit", time.Since(at))
	b.ReportMetric(0, "ns/op") // the table above is the figure
}

// callers is how many removals are under way at once.
const callers = 32

// together calls do for each number from first to before end.
func together(b *testing.B, first, end int, do func(i int) error) {
	var next atomic.Int64
	next.Store(int64(first))
	failed := make(chan error, callers)
	for range callers {
		go func() {
			var err error
			for i := int(next.Add(1)) - 1; i < end && err == nil; i = int(next.Add(1)) - 1 {
				err = do(i)
			}
			failed <- err
		}()
	}
	for range callers {
		cell.Must(b, <-failed)
	}
}

func row(what string, d time.Duration) { fmt.Printf("%-28s %8.2f s\n", what, d.Seconds()) }

func member(i int) heddle.EndpointID {
	return heddle.EndpointID{Container: fmt.Sprint("c", i), IfName: "eth0"}
}

// path is where the agent finds a namespace that this process has open.
func path(fd int) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd) }

// raiseLimits lets this process and its children have that many namespaces open, and as many files more. Where that is
// not allowed, they have as many as they may.
func raiseLimits(b *testing.B, many int) {
	var limit unix.Rlimit
	cell.Must(b, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	want := uint64(many)*2 + 10000
	if unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: want, Max: want}) == nil {
		return
	}
	limit.Cur = limit.Max
	cell.Must(b, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
}

// namespace makes a network namespace without a name, which is there as long as it is open.
func namespace(b *testing.B) int {
	runtime.LockOSThread()
	home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	cell.Must(b, err)
	defer unix.Close(home)
	cell.Must(b, unix.Unshare(unix.CLONE_NEWNET))
	made, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	cell.Must(b, err)
	cell.Must(b, unix.Setns(home, unix.CLONE_NEWNET))
	runtime.UnlockOSThread()
	b.Cleanup(func() { unix.Close(made) })
	return made
}

// cpuOf is the processor time that a process has used.
func cpuOf(b *testing.B, pid int) time.Duration {
	var user, system int64
	text := cell.Sh(b, "cut -d ' ' -f 14,15 /proc/%d/stat", pid)
	_, err := fmt.Sscan(text, &user, &system)
	cell.Must(b, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}
