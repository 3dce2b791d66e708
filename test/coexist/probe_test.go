package coexist_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/poll"
)

const (
	v4 = 1 << iota
	v6
	// tcpOnly leaves ping out, which ufw lets through whatever the policy.
	tcpOnly
	both = v4 | v6
)

// listen answers TCP on port 7700 of the namespace.
func (l *lab) listen(t *testing.T, name string) {
	t.Helper()
	l.in(t, name, func() {
		listener, err := net.Listen("tcp", ":7700")
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { listener.Close() })
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				conn.Write([]byte("here"))
				conn.Close()
			}
		}()
	})
}

// A probe is one packet's way through the forward hook.
type probe struct{ from, to string }

// Routed both ways through bridge and port; near to twin is bridged, and meets
// the IP firewall where br_netfilter is loaded.
var probes = []probe{{"near", "out"}, {"out", "near"}, {"routed", "out"}, {"out", "routed"}, {"near", "twin"}}

// outcomes tries every probe at once and returns the names of those that
// passed and of those that did not.
func (l *lab) outcomes(t *testing.T, families int, patience time.Duration) (passed, blocked []string) {
	t.Helper()
	type outcome struct {
		name string
		ok   bool
	}
	all, n := make(chan outcome), 0
	for _, p := range probes {
		if p.to == "twin" && !bridgeFiltered() {
			continue
		}
		for i, family := range []int{v4, v6} {
			if families&family == 0 {
				continue
			}
			n++
			address := addresses[p.to][i]
			go func() { all <- outcome{p.from + "->" + address + " tcp", l.dial(t, p.from, address, patience)} }()
			if families&tcpOnly != 0 {
				continue
			}
			n++
			go func() { all <- outcome{p.from + "->" + address + " ping", l.ping(p.from, address, patience)} }()
		}
	}
	for range n {
		if o := <-all; o.ok {
			passed = append(passed, o.name)
		} else {
			blocked = append(blocked, o.name)
		}
	}
	return passed, blocked
}

func (l *lab) dial(t *testing.T, from, address string, patience time.Duration) (ok bool) {
	l.in(t, from, func() {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(address, "7700"), patience)
		if err != nil {
			return
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(patience))
		n, _ := conn.Read(make([]byte, 4))
		ok = n > 0
	})
	return ok
}

func (l *lab) ping(from, address string, patience time.Duration) bool {
	wait := fmt.Sprintf("%.1f", patience.Seconds())
	return exec.Command("nsenter", "--net=/run/netns/"+l.prefix+from, "ping", "-n", "-c1", "-W"+wait, address).Run() == nil
}

func (l *lab) mustPass(t *testing.T, when string) {
	t.Helper()
	var blocked []string
	poll.Until(time.Minute, 0, poll.True(func() bool {
		_, blocked = l.outcomes(t, both, 3*time.Second)
		return len(blocked) == 0
	}))
	if len(blocked) > 0 {
		t.Fatalf("%s: blocked: %v\n%s", when, blocked, l.theirs(t))
	}
}

func (l *lab) mustBlock(t *testing.T, families int, when string) {
	t.Helper()
	if passed, _ := l.outcomes(t, families, 600*time.Millisecond); len(passed) > 0 {
		t.Fatalf("%s: the foreign firewall lets pass: %v\n%s", when, passed, l.theirs(t))
	}
}

func bridgeFiltered() bool {
	_, err := os.Stat("/proc/sys/net/bridge/bridge-nf-call-iptables")
	return err == nil
}
