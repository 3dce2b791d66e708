package resolver

import (
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// maxUpstreams is how many of the host's name servers are asked.
const maxUpstreams = 6

// lookPause is between two looks at the host's files.
const lookPause = time.Second

// shunTime is how long a name server comes last that did not answer where another one did.
const shunTime = 10 * time.Second

// upstreams are the host's name servers, as its files have them.
type upstreams struct {
	conf, uplink string
	mu           sync.Mutex
	looked       time.Time
	seen         [2]os.FileInfo
	list         []netip.AddrPort
	shunned      map[netip.AddrPort]time.Time
}

func newUpstreams(conf, uplink string) *upstreams {
	return &upstreams{conf: conf, uplink: uplink, shunned: map[netip.AddrPort]time.Time{}}
}

// current are the name servers, in the files' order.
func (u *upstreams) current() []netip.AddrPort {
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.looked) > lookPause {
		u.looked = time.Now()
		u.look()
	}
	return u.list
}

// look reads the files if they have changed.
func (u *upstreams) look() {
	changed := false
	for i, path := range []string{u.conf, u.uplink} {
		info, _ := os.Stat(path)
		if was := u.seen[i]; (was == nil) != (info == nil) || was != nil && !same(was, info) {
			u.seen[i], changed = info, true
		}
	}
	if !changed {
		return
	}
	list := servers(u.conf)
	outside := func(s netip.AddrPort) bool { return !s.Addr().IsLoopback() }
	if other := servers(u.uplink); !slices.ContainsFunc(list, outside) && slices.ContainsFunc(other, outside) {
		list = other
	}
	u.list = list
	clear(u.shunned)
}

// servers are those that a file in the form of resolv.conf(5) names.
func servers(path string) (all []netip.AddrPort) {
	c, err := dns.ClientConfigFromFile(path)
	if err != nil {
		return nil
	}
	for _, text := range c.Servers {
		a, err := netip.ParseAddr(text)
		s := netip.AddrPortFrom(a.Unmap(), port)
		if err == nil && !slices.Contains(all, s) && len(all) < maxUpstreams {
			all = append(all, s)
		}
	}
	return all
}

// ordered are the name servers without some, those last that did not answer lately.
func (u *upstreams) ordered(without func(netip.Addr) bool) []netip.AddrPort {
	var first, last []netip.AddrPort
	all := u.current()
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
