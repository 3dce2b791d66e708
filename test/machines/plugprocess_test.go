package machines_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// The steps of a process's move by CRIU (criu(8)), in a machine. NETNS is the container's namespace.
const (
	// startRedis starts a server under a number that no process of the other machine has.
	startRedis = `echo 20000 >/proc/sys/kernel/ns_last_pid
setsid nsenter --net=/run/netns/NETNS redis-server --save '' --appendonly no --protected-mode no --bind '*' </dev/null >/dev/null 2>&1 &`
	// dumpRedis writes the process's state to its output, and ends the process. The namespace does not go along.
	dumpRedis = `set -e
rm -rf /run/image; mkdir /run/image
pid=$(pidof redis-server)
criu dump --tree $pid --images-dir /run/image --tcp-established --external "net[$(stat -Lc %i /run/netns/NETNS)]:net" >&2
tar --create --directory /run/image .`
	// holdBack drops what comes before the process is there: the kernel would refuse the packets of connections that it does not know.
	holdBack = `rm -rf /run/image; mkdir /run/image; tar --extract --directory /run/image
ip netns exec NETNS nft 'add table inet hold; add chain inet hold input { type filter hook input priority -300; policy drop; }'`
	restoreRedis = `exec 9</run/netns/NETNS
criu restore --restore-detached --images-dir /run/image --tcp-established --inherit-fd 'fd[9]:net' </dev/null >/dev/null 2>&1 || { tail -n 20 /run/image/restore.log; exit 1; }
ip netns exec NETNS nft delete table inet hold`
)

// plugProcess: a server moves to the other machine with its NIC. Its clients' connections go on.
func plugProcess(t *testing.T, p *plugged, _ int) {
	for _, program := range []string{"criu", "redis-server", "redis-cli"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	e := p.attach(t, "r1", "fast")
	p.script(t, p.vm, nil, startRedis, "r1")
	addr := e.Addrs[0].Addr().String()
	ask := func(words ...string) (string, error) {
		out, err := p.hv.TryRun(append([]string{"ip", "netns", "exec", "beside", "timeout", "20", "redis-cli", "-h", addr}, words...)...)
		return strings.TrimSpace(out), err
	}
	world.Soon(t, "the server answers", func() error {
		_, err := ask("set", "told", "before")
		return err
	})
	load := p.load(t, addr)
	clients := func() (ids []string) {
		list, err := ask("client", "list")
		cell.Must(t, err)
		for line := range strings.Lines(list) {
			if !strings.Contains(line, "cmd=client") {
				id, _, _ := strings.Cut(line, " ")
				ids = append(ids, id)
			}
		}
		return ids
	}
	var before []string
	world.Soon(t, "the clients are connected", func() error {
		if before = clients(); len(before) != loadClients {
			return fmt.Errorf("connections %v", before)
		}
		return nil
	})
	from, to := p.vm, p.other
	rounds := 2
	if soak.On() {
		rounds = 20
	}
	var dark, stood []time.Duration
	for i := range rounds {
		d, s := p.moveProcess(t, from, to, fmt.Sprint("r", i+2), fmt.Sprint("r", i+1))
		dark, stood = append(dark, d), append(stood, s)
		if got, err := ask("get", "told"); err != nil || got != "before" {
			t.Fatalf("the server forgot what it was told: %q, %v", got, err)
		}
		if after := clients(); !slices.Equal(before, after) {
			t.Fatalf("the connections were %v, and are %v", before, after)
		}
		load.goesOn(t)
		p.ends(t, from, "r1")
		from, to = to, from
	}
	slices.Sort(dark)
	slices.Sort(stood)
	t.Logf("%d moves with %d connections under load: none broken; no container had the NIC for %v at the median, %v at most; the process stood still for %v and %v",
		rounds, loadClients, dark[(rounds-1)/2], dark[rounds-1], stood[(rounds-1)/2], stood[rounds-1])
	load.end(t)
	from.Run(t, "pkill", "-x", "redis-server")
	from.Heddle(t, "detach", "r1")
	for _, h := range []*docker.Host{p.vm, p.other} {
		h.Run(t, "sh", "-c", "for n in $(ip netns list | cut -d' ' -f1 | grep '^r'); do ip netns delete $n; done")
	}
	p.clean(t)
}

// moveProcess moves the server and its NIC into a new namespace of the other machine. It returns how long no container had the NIC, and how
// long the process did not run.
func (p *plugged) moveProcess(t *testing.T, from, to *docker.Host, netns, was string) (dark, stood time.Duration) {
	t.Helper()
	from.Heddle(t, "endpoint", "move", "r1", "--to", to.Name())
	to.Run(t, "ip", "netns", "add", netns)
	start := time.Now()
	image := p.script(t, from, nil, dumpRedis, was)
	p.script(t, to, image, holdBack, netns)
	r, err := to.Client.Attach(t.Context(), heddle.AttachRequest{Network: "fast", ID: heddle.EndpointID{Container: "r1", IfName: "eth0"},
		Netns: "/run/netns/" + netns, MoveFrom: from.Name()})
	cell.Must(t, err)
	p.script(t, to, nil, restoreRedis, netns)
	return r.Dark, time.Since(start)
}

// script runs a script in a machine, for a namespace, and returns its output.
func (p *plugged) script(t *testing.T, h *docker.Host, input []byte, text, netns string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd, err := h.Command(ctx, "sh", "-c", strings.ReplaceAll(text, "NETNS", netns))
	cell.Must(t, err)
	var errs strings.Builder
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(input)), &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", text, err, errs.String(), out[max(0, len(out)-1000):])
	}
	return out
}

// loadClients is how many connections ask the server all the time: each has a question under way, or asks the next one after loadPause. Without a
// pause, as the full form has it, answering would take the most of the emulated processors.
const (
	loadClients = 4
	loadPause   = 10 * time.Millisecond
)

// load asks the server until it is ended. It ends by itself when a connection breaks.
type load struct {
	end     func(t *testing.T)
	ended   chan error
	answers [loadClients]atomic.Int64 // how many each connection has got
}

func (p *plugged) load(t *testing.T, addr string) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	l := &load{ended: make(chan error, loadClients)}
	beside := world.Netns{Name: "beside", Path: fmt.Sprintf("/proc/%d/root/run/netns/beside", p.hv.Pid)}
	for i := range loadClients {
		var c net.Conn
		err := beside.Do(func() (err error) {
			c, err = net.DialTimeout("tcp", net.JoinHostPort(addr, "6379"), world.Patience)
			return err
		})
		cell.Must(t, err)
		go func() { l.ended <- askOn(ctx, c, &l.answers[i]) }()
	}
	l.end = func(t *testing.T) {
		t.Helper()
		cancel()
		for range loadClients {
			if err := <-l.ended; err != nil {
				t.Errorf("a client gave up: %v", err)
			}
		}
	}
	return l
}

// askOn asks the server by one connection until the context ends, and reports what broke it before.
func askOn(ctx context.Context, c net.Conn, got *atomic.Int64) error {
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	answers := bufio.NewReader(c)
	for ctx.Err() == nil {
		_, err := io.WriteString(c, "SET key value\r\n")
		said := ""
		if err == nil {
			said, err = answers.ReadString('\n')
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case said != "+OK\r\n":
			return fmt.Errorf("the server answers %q", said)
		}
		got.Add(1)
		if !soak.On() {
			time.Sleep(loadPause)
		}
	}
	return nil
}

// goesOn waits until the server has answered each connection once more.
func (l *load) goesOn(t *testing.T) {
	t.Helper()
	var first [loadClients]int64
	for i := range first {
		first[i] = l.answers[i].Load()
	}
	world.Soon(t, "the load goes on", func() error {
		select {
		case err := <-l.ended:
			l.ended <- err
			return fmt.Errorf("a client gave up: %w", err)
		default:
		}
		for i, before := range first {
			if l.answers[i].Load() == before {
				return fmt.Errorf("connection %d has %d answers", i, before)
			}
		}
		return nil
	})
}
