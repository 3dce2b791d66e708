package resolver_test

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/resolver"
	"github.com/heddle-network/heddle/resolver/process"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// flood sends a question without end, as fast as it can, and takes no replies.
func flood(t testing.TB, from world.Netns, question string) (stop func()) {
	text, err := query(question).Pack()
	cell.Must(t, err)
	var running sync.WaitGroup
	var ended atomic.Bool
	for range 2 {
		c := dial(t, from, "udp", app4)
		cell.Must(t, c.Conn.(*net.UDPConn).SetReadBuffer(1))
		running.Go(func() {
			for !ended.Load() {
				c.Conn.Write(text)
			}
		})
	}
	return func() { ended.Store(true); running.Wait() }
}

// TestFlood: what one container sends does not keep others from their answers.
func TestFlood(t *testing.T) {
	s := newScene(t).start(t)
	for _, question := range []string{"web A", "example.org A", "-"} {
		stop := flood(t, s.c1, question)
		lost := 0
		c := dial(t, s.c2, "udp", app4)
		for i := range 200 {
			m := query([]string{"both.app A", "example.net A"}[i%2])
			want := []string{"10.1.0.3", "198.51.100.7"}[i%2]
			c.SetDeadline(time.Now().Add(5 * time.Second)) // a stub's usual patience
			cell.Must(t, c.WriteMsg(m))
			r, err := c.ReadMsg()
			if err != nil {
				lost++
			} else if r.Id != m.Id || text(r) != want {
				t.Errorf("%s: %v", question, r)
			}
		}
		stop()
		c.Close()
		t.Logf("beside a flood of %q, %d of 200 answers did not come", question, lost)
		if lost > 4 { // one in fifty
			t.Errorf("beside a flood of %q, %d of 200 answers did not come", question, lost)
		}
	}
	s.far.does(func(dns.ResponseWriter, *dns.Msg) {}) // so that questions wait, however slow the flood
	stop := flood(t, s.c1, "example.org A")
	s.says(t, "the flood is told", func(st process.Status) bool { return st.Counts.Limited > 1000 })
	stop()
	if got := text(over(t, dial(t, s.c2, "tcp", app4), query("both.app A"))); got != "10.1.0.3" {
		t.Error(got)
	}
}

// TestRate: over its limit a container is told to come by TCP, for as long as that is no flood. There
// it has a limit of its own, beyond which it is refused.
func TestRate(t *testing.T) {
	s := newScene(t).start(t, func(o *resolver.Options) {
		o.Limits = resolver.DefaultLimits
		o.Limits.Rate, o.Limits.Burst = 1, 20
	})
	cut, answered := 0, 0
	c := dial(t, s.c1, "udp", app4)
	for range 30 {
		switch r := over(t, c, query("web A")); {
		case r.Truncated && r.Rcode == dns.RcodeSuccess && len(r.Answer) == 0:
			cut++
		case text(r) == "10.1.0.2":
			answered++
		}
	}
	if answered < 20 || cut != 30-answered || cut == 0 {
		t.Errorf("%d answers, %d cut short", answered, cut)
	}
	codes := map[int]int{}
	stream := dial(t, s.c1, "tcp", app4)
	for range 30 {
		codes[over(t, stream, query("web A")).Rcode]++
	}
	if n := codes[dns.RcodeSuccess]; n < 20 || codes[dns.RcodeRefused] != 30-n || n == 30 {
		t.Errorf("the replies by TCP were %v", codes)
	}
	for range 100 {
		cell.Must(t, c.WriteMsg(query("web A")))
	}
	s.says(t, "they are counted", func(st process.Status) bool { return st.Counts.Limited >= 80 })
	s.denies(t, "c1", func(d process.Denied) bool { return d.TooFast >= 80 && d.TooFast == d.Total() })
	says(t, s.c2, app4, "web A", "10.1.0.2")
	if r := over(t, dial(t, s.c2, "tcp", app4), query("web AAAA")); text(r) != "fd01::2" {
		t.Error(r)
	}
}

// TestWaiting: few questions of one container wait for name servers; others' do not wait for them.
func TestWaiting(t *testing.T) {
	s := newScene(t).start(t, func(o *resolver.Options) {
		o.Limits = resolver.DefaultLimits
		o.Limits.Forwards = 5
	})
	release := make(chan struct{})
	answer := sync.OnceFunc(func() { close(release) })
	defer answer()
	s.far.does(func(w dns.ResponseWriter, q *dns.Msg) {
		if q.Question[0].Name == "slow.example." {
			<-release
		}
		w.WriteMsg(records(q, "A 198.51.100.7"))
	})
	c := dial(t, s.c1, "udp", app4)
	for i := range 12 {
		m := query("slow.example A")
		m.Id = uint16(i)
		cell.Must(t, c.WriteMsg(m))
	}
	c.SetDeadline(time.Now().Add(patience))
	for range 7 {
		if r, err := c.ReadMsg(); err != nil || r.Rcode != dns.RcodeRefused {
			t.Fatalf("%v, %v", r, err)
		}
	}
	says(t, s.c2, app4, "example.org A", "198.51.100.7")
	answer()
	for range 5 {
		if r, err := c.ReadMsg(); err != nil || text(r) != "198.51.100.7" {
			t.Fatalf("%v, %v", r, err)
		}
	}
	says(t, s.c1, app4, "example.org A", "198.51.100.7")
	s.denies(t, "c1", func(d process.Denied) bool { return d == process.Denied{Container: "c1", Waiting: 7} })
}

// TestConnections: a container has few connections, and those that say nothing are closed.
func TestConnections(t *testing.T) {
	s := newScene(t).start(t, func(o *resolver.Options) {
		o.Limits = resolver.DefaultLimits
		o.Limits.Connections = 3
	})
	var all []*dns.Conn
	for range 3 {
		c := dial(t, s.c1, "tcp", app4)
		over(t, c, query("web A"))
		all = append(all, c)
	}
	cut(t, s.c1, app4)
	s.denies(t, "c1", func(d process.Denied) bool { return d == process.Denied{Container: "c1", Connections: 1} })
	over(t, dial(t, s.c2, "tcp", app4), query("web A"))
	over(t, all[0], query("web A"))
	cell.Must(t, all[0].Close())
	world.Soon(t, "there is room for another connection", func() error {
		c := dial(t, s.c1, "tcp", app4)
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		if err := c.WriteMsg(query("web A")); err != nil {
			return err
		}
		_, err := c.ReadMsg()
		return err
	})
	all[1].SetDeadline(time.Now().Add(time.Minute))
	if r, err := all[1].ReadMsg(); err == nil {
		t.Errorf("%v came without a question", r)
	}
}
