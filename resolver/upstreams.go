package resolver

import (
	"encoding/json"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/resolver/nameservers"
)

// lookPause is between two looks at the host's files.
const lookPause = time.Second

// shunTime is how long a name server comes last that did not answer where another one did.
const shunTime = 10 * time.Second

// upstreams are the host's name servers, as its files have them, and those of single domains.
type upstreams struct {
	conf, uplink, forward string
	mu                    sync.Mutex
	looked                time.Time
	seen                  [3]os.FileInfo
	list                  []netip.AddrPort
	forwards              []names.Forward
	shunned               map[netip.AddrPort]time.Time
}

func newUpstreams(conf, uplink, forward string) *upstreams {
	return &upstreams{conf: conf, uplink: uplink, forward: forward, shunned: map[netip.AddrPort]time.Time{}}
}

// current are the name servers, in the files' order, and those of single domains.
func (u *upstreams) current() ([]netip.AddrPort, []names.Forward) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.looked) > lookPause {
		u.looked = time.Now()
		u.look()
	}
	return u.list, u.forwards
}

// look reads the files if they have changed.
func (u *upstreams) look() {
	changed := false
	for i, path := range []string{u.conf, u.uplink, u.forward} {
		info, _ := os.Stat(path)
		if was := u.seen[i]; (was == nil) != (info == nil) || was != nil && !same(was, info) {
			u.seen[i], changed = info, true
		}
	}
	if !changed {
		return
	}
	u.list = nil
	for _, a := range nameservers.Upstreams(u.conf, u.uplink) {
		u.list = append(u.list, netip.AddrPortFrom(a, port))
	}
	u.forwards = readForwards(u.forward)
	clear(u.shunned)
}

// readForwards reads the agent's file, which is replaced as a whole. There may be none.
func readForwards(path string) (all []names.Forward) {
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}

// ordered are the name servers that know a name, without some, those last that did not answer lately.
func (u *upstreams) ordered(name string, without func(netip.Addr) bool) []netip.AddrPort {
	var first, last []netip.AddrPort
	all, forwards := u.current()
	if f := names.ForwardOf(forwards, strings.TrimSuffix(name, ".")); f != nil {
		all = f.Servers
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, s := range all {
		switch {
		case without(s.Addr()):
		case time.Now().Before(u.shunned[s]):
			last = append(last, s)
		default:
			first = append(first, s)
		}
	}
	return append(first, last...)
}

// shun puts a name server last for a while.
func (u *upstreams) shun(s netip.AddrPort) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.shunned[s] = time.Now().Add(shunTime)
}
