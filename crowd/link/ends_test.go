package link

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/impair"
	"github.com/heddle-network/heddle/test/namespace"
	"github.com/heddle-network/heddle/test/poll"
)

// TestEnds: what passes no more when a link is closed goes straight, and neither the link nor its namespace leaves anything.
func TestEnds(t *testing.T) {
	its := namespace.Holder(t)
	user, other := pairOf(t, its, namespace.Holder(t))
	l := put(t, user, scenario.Link{Impairment: impair.Impairment{Delay: time.Hour}})
	echo(t, other, far[0])
	if c, err := user.DialUDP(far[0]); err != nil {
		t.Error(err)
	} else {
		c.Write([]byte("on its way"))
		c.Close()
	}
	l.Close()
	l.Close()
	dial(t, user, far[0]).Close()
	its.Close()
	awaitEnd(t, other.Path())
}

// awaitEnd waits until the user's namespace has ended, and with it the far end of its wire. Connections that could not say
// goodbye would keep it for 102 s or more (ip-sysctl, tcp_orphan_retries).
func awaitEnd(t *testing.T, other string) time.Duration {
	t.Helper()
	return poll.For(t, time.Minute, 50*time.Millisecond, "the user's namespace ended", func() bool {
		out, err := exec.Command("nsenter", "--net="+other, "ip", "link").CombinedOutput()
		return err == nil && !strings.Contains(string(out), "eth0")
	})
}

// TestKilled: the namespace of a user ends with the process that had its link, although that process could take nothing
// away, and the goodbyes of its connections were on the link; also if nobody answers them when they come again.
func TestKilled(t *testing.T) {
	const child = "HEDDLE_TEST_KILLED"
	if as := os.Getenv(child); as != "" {
		user, other := pair(t)
		put(t, user, scenario.Link{Impairment: impair.Impairment{Delay: 300 * time.Millisecond}})
		if err := ForgetOrphans(other); err != nil {
			t.Fatal(err)
		}
		for _, at := range far {
			echo(t, other, at)
			dial(t, user, at)
		}
		if as == "unanswered" {
			inside(t, other, "ip", "address", "flush", "dev", "eth0")
		}
		fmt.Println(other.Path())
		select {}
	}
	if os.Geteuid() != 0 {
		t.Skip("making namespaces needs root")
	}
	for _, as := range []string{"answered", "unanswered"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		cmd.Env = append(os.Environ(), child+"="+as)
		said, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
		path, err := bufio.NewReader(said).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.Open(strings.TrimSpace(path))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		cmd.Process.Kill()
		cmd.Wait()
		t.Logf("%s: %s", as, awaitEnd(t, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), other.Fd())))
	}
}

// TestTake: a link that is taken away keeps nothing of its user, what it has done still counts, and others stay. The user's
// number can have a link again.
func TestTake(t *testing.T) {
	its := namespace.Holder(t)
	user, other := pairOf(t, its, namespace.Holder(t))
	stays, _ := pair(t)
	l := put(t, user, scenario.Link{Impairment: impair.Impairment{Delay: time.Hour}})
	if err := l.Put(stays, "eth0", scenario.Link{}, 7, 2); err != nil {
		t.Fatal(err)
	}
	c, err := user.DialUDP(far[0])
	if err != nil {
		t.Fatal(err)
	}
	c.Write([]byte("on its way"))
	c.Close()
	poll.For(t, time.Minute, time.Millisecond, "the link has the frame", func() bool { return l.Counted().Frames > 0 })
	l.Take(1, 3)
	if l.Counted().Frames == 0 || l.Change(scenario.Link{}, 7, 1) || !l.Change(scenario.Link{}, 7, 2) {
		t.Errorf("%+v", l.Counted())
	}
	if err := socket.Drop(user); err != nil {
		t.Fatal(err)
	}
	awaitEnd(t, other.Path())
	again, _ := pair(t)
	if err := l.Put(again, "eth0", scenario.Link{}, 7, 1); err != nil {
		t.Error(err)
	}
}
