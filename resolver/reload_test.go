package resolver_test

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/resolver/process"
	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// TestReload: while files change, each question is answered, by the old table or the new one.
func TestReload(t *testing.T) {
	s := newScene(t).start(t)
	var asking sync.WaitGroup
	var ended atomic.Bool
	var asked atomic.Int64
	for _, network := range []string{"udp", "tcp"} {
		c := dial(t, s.c1, network, app4)
		asking.Go(func() {
			for !ended.Load() {
				r, err := askAgain(c, query("web A"))
				if err == nil && text(r) != "10.1.0.2" {
					err = errors.New(text(r))
				}
				if err != nil {
					t.Errorf("%s: %v", network, err)
					return
				}
				asked.Add(1)
				time.Sleep(time.Millisecond) // well below the limit
			}
		})
	}
	n := appNetwork()
	for i := range 200 {
		n.Endpoints = append(n.Endpoints[:3:3], endpoint("host2", fmt.Sprint("n", i), fmt.Sprint("n", i), nil, fmt.Sprint("10.1.0.", 10+i)))
		s.write(t, n)
		if i%20 == 0 {
			s.becomes(t, s.c2, fmt.Sprint("n", i), fmt.Sprint("10.1.0.", 10+i))
		}
	}
	s.becomes(t, s.c2, "n199", "10.1.0.209")
	s.gone(t, s.c2, "n198")
	ended.Store(true)
	asking.Wait()
	if asked.Load() < 20 {
		t.Errorf("%d questions were asked meanwhile", asked.Load())
	}
}

// TestNetworks: sockets come with networks and go with them, and are opened as soon as they can be.
func TestNetworks(t *testing.T) {
	s := newScene(t).start(t)
	cell.Must(t, os.Remove(filepath.Join(s.dir, backNetwork().ID+".json")))
	s.serves(t, app4, app6)
	c := dial(t, s.c3, "udp", back4)
	c.SetDeadline(time.Now().Add(patience))
	c.WriteMsg(query("store A"))
	if _, err := c.ReadMsg(); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("the socket is not closed: %v", err)
	}
	says(t, s.c2, app4, "store A", "NXDOMAIN")
	s.write(t, backNetwork())
	s.serves(t, app4, app6, back4)
	says(t, s.c3, back4, "store A", "10.2.0.4")

	late := names.Network{ID: "00000000000000d4", Name: "late", Listen: addrs("10.4.0.1", "fd04::1"),
		Endpoints: []names.Endpoint{endpoint("", "late", "it", nil, "10.2.0.4")}}
	s.write(t, late)
	s.serves(t, app4, app6, back4, "10.4.0.1", "fd04::1") // before the addresses are there
	says(t, s.c1, app4, "web A", "10.1.0.2")
	var l links
	l.bridge("late", "10.4.0.1/24", "fd04::1/64")
	l.make(t)
	says(t, s.c3, "10.4.0.1", "it.late A", "10.2.0.4")

	// An address that goes and comes back is served on.
	cell.Sh(t, "ip addr del 10.2.0.1/24 dev back\nip addr add 10.2.0.1/24 dev back")
	says(t, s.c3, back4, "store A", "10.2.0.4")
}

// TestPortTaken: a port that another program has is taken when that ends.
func TestPortTaken(t *testing.T) {
	s := newScene(t)
	at := netip.AddrPortFrom(netip.MustParseAddr(app4), 53)
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	cell.Must(t, err)
	defer l.Close()
	s.startOnly(t)
	s.serves(t, app6, back4)
	s.says(t, "a port is taken", func(st process.Status) bool { return len(st.Fails) == 1 && st.Fails[0].Addr == at.Addr() })
	says(t, s.c1, app6, "web A", "10.1.0.2")
	cell.Must(t, l.Close())
	s.serves(t, app4, app6, back4)
	says(t, s.c1, app4, "web A", "10.1.0.2")
}

// TestUnreadable: a file that cannot be read changes nothing, and is told.
func TestUnreadable(t *testing.T) {
	s := newScene(t).start(t)
	path := filepath.Join(s.dir, appNetwork().ID+".json")
	for _, text := range []string{"", "{", `{"listen": ["nowhere"]}`, `[]`} {
		cell.Must(t, os.WriteFile(path, []byte(text), 0o600))
		s.says(t, "a file is not read", func(st process.Status) bool {
			return len(st.Unread) == 1 && st.Unread[0].File == filepath.Base(path) && st.Unread[0].Cause != ""
		})
		says(t, s.c1, app4, "web A", "10.1.0.2")
	}
	s.write(t, appNetwork())
	s.says(t, "all are read", func(st process.Status) bool { return len(st.Unread) == 0 && st.Networks == 2 })
}

// TestParts: a network is what all its files say, whichever of them changes or goes.
func TestParts(t *testing.T) {
	s := newScene(t).start(t)
	first := appNetwork()
	second := first
	first.Endpoints, second.Endpoints = first.Endpoints[:1], append(second.Endpoints[1:len(second.Endpoints):len(second.Endpoints)],
		endpoint("host2", "late", "late", nil, "10.1.0.77"))
	s.writeAs(t, second.ID+"-07.json", second)
	s.write(t, first)
	s.becomes(t, s.c1, "late", "10.1.0.77")
	says(t, s.c1, app4, "web A", "10.1.0.2")
	second.Endpoints[len(second.Endpoints)-1].Addrs = addrs("10.1.0.78")
	s.writeAs(t, second.ID+"-07.json", second)
	s.becomes(t, s.c1, "late", "10.1.0.78")
	says(t, s.c1, app4, "web A", "10.1.0.2")
	cell.Must(t, os.Remove(filepath.Join(s.dir, second.ID+"-07.json")))
	s.says(t, "there are two networks", func(st process.Status) bool { return st.Networks == 2 })
	poll.For(t, patience, time.Millisecond, "the part's name is gone", func() bool {
		return text(exchange(t, s.c1, "udp", app4, query("late A"))) == "NXDOMAIN"
	})
	says(t, s.c1, app4, "web A", "10.1.0.2")
}

// TestFolderReplaced: also the folder may go and come back.
func TestFolderReplaced(t *testing.T) {
	s := newScene(t).start(t)
	cell.Must(t, os.Rename(s.dir, s.dir+".old"))
	cell.Must(t, os.Mkdir(s.dir, 0o700))
	n := appNetwork()
	n.Endpoints[0].Addrs = addrs("10.1.0.2", "fd01::2", "10.1.0.22")
	s.write(t, n)
	s.becomes(t, s.c1, "web", "10.1.0.2 10.1.0.22")
	s.serves(t, app4, app6)
}

// TestFolderGone: a resolver whose folder is gone ends, and leaves no new one.
func TestFolderGone(t *testing.T) {
	s := newScene(t).start(t)
	cell.Must(t, os.RemoveAll(s.dir))
	_, err := poll.Until(patience, 10*time.Millisecond, func() error {
		c, err := net.DialTimeout("tcp", net.JoinHostPort(app4, "53"), time.Second)
		if err != nil {
			return nil
		}
		c.Close()
		return errors.New("the port is open")
	})
	cell.Must(t, err)
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder: %v", err)
	}
}

// TestSize: the names of ten thousand endpoints do not make answers late.
func TestSize(t *testing.T) {
	s := newScene(t).start(t)
	n := appNetwork()
	for i, a := range numbered("10.9.%d.%d", 10000) {
		e := endpoint("host2", fmt.Sprint("m", i), fmt.Sprint("m", i), nil)
		e.Addrs = []netip.Addr{a}
		n.Endpoints = append(n.Endpoints, e)
	}
	s.write(t, n)
	took := poll.For(t, patience, time.Millisecond, "the last name is known", func() bool {
		return text(exchange(t, s.c1, "udp", app4, query("m9999 A"))) == "10.9.39.15"
	})
	t.Logf("10,000 names were known after %v", took)
}
