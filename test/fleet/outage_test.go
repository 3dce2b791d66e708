package fleet_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/soak"
	"github.com/heddle-network/heddle/test/world"
)

// stream is a TCP connection between two containers over which both talk until it
// is ended. It counts what came back.
type stream struct {
	echoed atomic.Int64
	failed atomic.Pointer[error]
	stop   chan struct{}
	done   chan struct{}
}

// linePause is between two lines of a stream.
const linePause = 20 * time.Millisecond

// newStream has the client send one line after the other, and wait for each to come back.
func newStream(t *testing.T, client, server *pod, port uint16) *stream {
	t.Helper()
	at := netip.AddrPortFrom(server.addrs()[0], port)
	echo(t, server.Netns, at)
	client.finds(t, at.Addr())
	c, err := client.Dial("tcp", netip.AddrPort{}, at, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer c.Close()
		line, back := []byte("a line that comes back\n"), make([]byte, 23)
		for {
			select {
			case <-s.stop:
				return
			case <-time.After(linePause):
			}
			c.SetDeadline(time.Now().Add(time.Minute))
			_, err := c.Write(line)
			if err == nil {
				_, err = io.ReadFull(c, back)
			}
			if err != nil {
				s.failed.Store(&err)
				return
			}
			s.echoed.Add(1)
		}
	}()
	return s
}

// echo sends back whatever comes, for the length of the test.
func echo(t *testing.T, in world.Netns, at netip.AddrPort) {
	t.Helper()
	err := in.Do(func() error {
		l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
		if err != nil {
			return err
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					io.Copy(c, c)
				}()
			}
		}()
		return nil
	})
	if err != nil {
		t.Fatalf("listen on %s in %s: %v", at, in.Name, err)
	}
}

func (s *stream) end(t *testing.T) {
	t.Helper()
	close(s.stop)
	<-s.done
	if err := s.failed.Load(); err != nil {
		t.Errorf("a stream broke after %d lines: %v", s.echoed.Load(), *err)
	}
}

// TestQuorumLost takes two of three members of the store away under traffic. The
// host that is left goes on, says what it lacks, and all is well again when they
// return.
func TestQuorumLost(t *testing.T) {
	t.Parallel() // it mostly waits
	quorumLost(t, 75*time.Second, time.Minute, 3*time.Minute)
}

// TestSoakQuorumLost is TestQuorumLost at full length, with the limits that a quiet
// machine keeps.
func TestSoakQuorumLost(t *testing.T) {
	soak.Need(t, "the store is away for ten minutes")
	quorumLost(t, 10*time.Minute, 3*time.Second, 5*time.Second)
}

// quorumLost has the store away for a time. The status says so within told of its
// going, and all hosts have a new network within back of its return.
func quorumLost(t *testing.T, away, told, back time.Duration) {
	f := newCluster(t, 3)
	f.network(t, "app", "10.10.0.0/24", "fd10::/64")
	var pods []*pod
	for i, h := range f.hosts {
		pods = append(pods, h.attach(t, fmt.Sprint("p", i+1), "app"))
	}
	streams := []*stream{newStream(t, pods[0], pods[1], 7001), newStream(t, pods[1], pods[2], 7002), newStream(t, pods[2], pods[0], 7003)}
	f.hosts[1].kill(t)
	f.hosts[2].kill(t)
	began := time.Now()
	world.Within(t, told, "the status says that the store is away", func() error {
		st, err := f.hosts[0].Status(context.Background())
		if st.Part("store").State == "bad" {
			return nil
		}
		return fmt.Errorf("%w: %v", err, st.Parts)
	})
	t.Logf("the status said so after %s", time.Since(began))
	late := f.hosts[0].attach(t, "late", "app")
	late.Reaches(t, append(pods[1].addrs(), pods[2].addrs()...)...)
	late.detach(t)
	if out, err := f.hosts[0].tryCLI(t, "network", "create", "more", "--mode", "overlay", "--subnet", "10.12.0.0/24"); err == nil || !strings.Contains(out, "HDL-8001") {
		t.Errorf("a network made without the store: %v\n%s", err, out)
	}
	time.Sleep(away)
	f.hosts[1].start(t)
	f.hosts[2].start(t)
	began = time.Now()
	world.Within(t, back, "the store takes changes again", func() error {
		out, err := f.hosts[0].tryCLI(t, "network", "create", "more", "--mode", "overlay", "--subnet", "10.12.0.0/24")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	f.everywhere(t, "network more is there", func(h *host) error { _, err := h.Network(context.Background(), "more"); return err })
	took := time.Since(began)
	t.Logf("all hosts have a new network %s after the members' start", took)
	if took > back {
		t.Errorf("that is more than %s", back)
	}
	for _, s := range streams {
		s.end(t)
	}
	f.hosts[1].cli(t, "network", "delete", "more")
	for _, p := range pods {
		p.detach(t)
	}
}

// membersVote waits until so many members of the store answer.
func (f *fleet) membersVote(t *testing.T, many int) {
	t.Helper()
	for _, h := range f.hosts {
		world.Within(t, 3*time.Minute, "members vote", func() error {
			st, err := h.Status(context.Background())
			if strings.HasPrefix(st.Part("store").Detail, fmt.Sprintf("%d of %[1]d", many)) {
				return nil
			}
			return fmt.Errorf("%v: %w", st.Parts, err)
		})
	}
}

// TestAgentsKilled kills agents under long streams, which do not notice: the fast path
// carries them on, and goes on counting.
func TestAgentsKilled(t *testing.T) {
	soak.Turn(t, 1)
	t.Parallel()
	f := newCluster(t, 3)
	f.network(t, "app", "10.10.0.0/24", "")
	var pods []*pod
	for i, h := range f.hosts {
		pods = append(pods, h.attach(t, fmt.Sprint("p", i+1), "app"))
	}
	streams := []*stream{newStream(t, pods[0], pods[1], 7001), newStream(t, pods[1], pods[2], 7002), newStream(t, pods[0], pods[2], 7003)}
	lines := func() (all int64) {
		for _, s := range streams {
			all += s.echoed.Load()
		}
		return all
	}
	pods[0].fast(t, pods[1], true, "sent", "received")
	for round := range 5 {
		p := pods[round%3]
		before, carried := lines(), p.counts(t)["sent"]
		p.on.kill(t)
		time.Sleep(time.Second)
		p.on.start(t)
		passed, now := lines()-before, p.counts(t)["sent"]
		// it is an end of two streams of three, and of most of their lines' packets
		if now < carried || int64(now-carried) < passed/3 {
			t.Errorf("round %d: %d packets carried, %d before; %d lines passed", round, now, carried, passed)
		}
	}
	for _, s := range streams {
		s.end(t)
	}
	for _, p := range pods {
		p.detach(t)
	}
}
