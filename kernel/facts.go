package kernel

import (
	"cmp"
	"errors"
	"math"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Facts reads what plans may depend on: the host's own interfaces. Those with the best default
// route come first, the others follow in the order in which the kernel lists
// them.
func (k *Kernel) Facts() (heddle.HostFacts, error) {
	var f heddle.HostFacts
	name, err := os.Hostname()
	if err != nil {
		return f, refused("read", "host name", err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return f, refused("read", "boot id", err)
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return f, refused("read", "kernel release", err)
	}
	f.Name, f.BootID, f.Kernel = name, strings.TrimSpace(string(boot)), unix.ByteSliceToString(u.Release[:])
	if f.Links, err = k.linkFacts(); err != nil {
		return f, refused("list", "interfaces", err)
	}
	if f.Listening, err = k.listening(); err != nil {
		return f, refused("list", "sockets", err)
	}
	f.Secured, err = k.secured()
	return f, refused("list", "IPsec policies", err)
}

// uplink is what the default routes say about one interface.
type uplink struct {
	metric     int
	gateways   []netip.Addr
	advertised bool
}

func (k *Kernel) linkFacts() ([]heddle.LinkFact, error) {
	links, err := k.listing().linksButPorts()
	if err != nil {
		return nil, err
	}
	addrs, err := k.listing().addresses(0)
	if err != nil {
		return nil, err
	}
	ups, err := k.uplinks()
	if err != nil {
		return nil, err
	}
	metric := func(l linkState) int {
		if u := ups[l.index]; u != nil {
			return u.metric
		}
		return math.MaxInt
	}
	slices.SortStableFunc(links, func(a, b linkState) int {
		return cmp.Or(cmp.Compare(metric(a), metric(b)), cmp.Compare(a.index, b.index))
	})
	var all []heddle.LinkFact
	for _, l := range links {
		if !l.ours() {
			all = append(all, linkFact(l, addrs, ups[l.index]))
		}
	}
	return all, nil
}

func linkFact(l linkState, addrs []addressAt, up *uplink) heddle.LinkFact {
	f := heddle.LinkFact{Name: l.name, MTU: l.mtu, MAC: l.mac, Up: l.up}
	for _, a := range addrs {
		if a.index == l.index {
			f.Addrs = append(f.Addrs, a.prefix)
		}
	}
	if up != nil {
		f.Gateways, f.Advertised = up.gateways, up.advertised
	}
	return f
}

// uplinks reads the default routes of the main table, by interface. The library decodes the many
// forms of a next hop.
func (k *Kernel) uplinks() (map[int]*uplink, error) {
	h, err := k.home.handle()
	if err != nil {
		return nil, err
	}
	defer h.Close()
	ups := map[int]*uplink{}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		routes, err := defaultRoutes(h, family)
		if err != nil {
			return nil, err
		}
		for _, r := range routes {
			addUplink(ups, r)
		}
	}
	return ups, nil
}

// defaultRoutes returns the default routes sorted by metric, so that the first gateway is the one
// in use.
func defaultRoutes(h *netlink.Handle, family int) ([]netlink.Route, error) {
	var all []netlink.Route
	var err error
	for range 5 {
		all, err = h.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST, Dst: nil},
			netlink.RT_FILTER_TABLE)
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			break
		}
	}
	all = slices.DeleteFunc(all, func(r netlink.Route) bool {
		if r.Dst == nil {
			return false
		}
		ones, _ := r.Dst.Mask.Size()
		return ones != 0 || r.Type != unix.RTN_UNICAST || r.Protocol == heddle.RouteProtocol
	})
	slices.SortStableFunc(all, func(a, b netlink.Route) int { return a.Priority - b.Priority })
	return all, err
}

func addUplink(ups map[int]*uplink, r netlink.Route) {
	hops := []*netlink.NexthopInfo{{LinkIndex: r.LinkIndex, Gw: r.Gw, Via: r.Via}}
	if len(r.MultiPath) > 0 {
		hops = r.MultiPath
	}
	for _, h := range hops {
		u := ups[h.LinkIndex]
		if u == nil {
			u = &uplink{metric: r.Priority}
			ups[h.LinkIndex] = u
		}
		// IPv6 metrics start at 1024, IPv4 metrics at 0. The smaller of the two orders the uplinks.
		u.metric = min(u.metric, r.Priority)
		u.advertised = u.advertised || r.Family == unix.AF_INET6 && r.Protocol == unix.RTPROT_RA
		gw, ok := netip.AddrFromSlice(h.Gw)
		if gw = gw.Unmap(); ok && !slices.Contains(u.gateways, gw) {
			u.gateways = append(u.gateways, gw)
		}
	}
}
