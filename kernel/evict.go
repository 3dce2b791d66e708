package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// Tenure describes an endpoint's device on a parent interface of the host.
type Tenure struct {
	Parent string
	// Number is the parent's index at the time of the attach; 0 if it is not known.
	Number int
	MAC    heddle.MAC
	Addrs  []netip.Prefix
	// Before are the MAC addresses that the parent listened to when the endpoint came.
	Before []heddle.MAC
	// Known reports whether a device belongs to another endpoint. It identifies the device by the
	// cookie of its namespace and its index there.
	Known func(cookie uint64, index int) bool
	// Asked reports whether the parent listens to a MAC address that no device has yet: for an endpoint that is being attached
	// a DHCP server is asked from it. nil stands for none.
	Asked func(heddle.MAC) bool

	// soon is until when devices may become known.
	soon time.Time
}

// Evict takes a container off its parent's LAN. It deletes every device on the parent that is in
// the container's namespace, or in a namespace that the container's users made, whatever the device
// is called. In a namespace to which interfaces of the container may have been moved, it deletes
// the devices with the endpoint's address or MAC address. It leaves other devices there alone,
// since they may be the user's.
//
// The error has the code heddle.Quarantined if the container may still be on the LAN: a device
// elsewhere has its address, a device came to a namespace reachable from the container while the
// container was attached, or a device is there that cannot be found. Pod is nil if the container's
// namespace is gone.
func (k *Kernel) Evict(t Tenure, in Pod) error {
	pod, err := netnsOf(in)
	if err != nil {
		return err
	}
	parent, err := k.parent(t)
	if err != nil || parent == nil {
		return refused("read interface", t.Parent, err) // a device is deleted with its parent
	}
	begun := time.Now()
	t.soon = begun.Add(upTime)
	for deep := false; ; deep = true {
		// read first, so that the search does not miss a device that comes later
		before, err := k.listing().listenedMACs(*parent)
		if err != nil {
			return refused("list", "MAC addresses of "+t.Parent, err)
		}
		found, err := k.evict(t, *parent, pod, deep, before)
		if err != nil {
			closeAll(found.down)
			return err
		}
		hidden := awaitUp(found.hidden, found.down)
		closeAll(found.down)
		switch {
		case len(hidden) == 0 && (deep || !found.left):
			return nil
		case !deep:
			continue
		case !k.waitGone(hidden, *parent, begun.Add(EndTime)):
			return quarantined(t, fmt.Sprintf("%s listens to %s for a device in a namespace that is not found", t.Parent, orList(hidden)))
		case pod == nil || found.seenAll(hidden):
			return nil // its namespace was ending, or those of neighbours that the search has seen
		}
		// The namespace of a neighbour was ending, or a device in hiding took another address: look once more.
	}
}

// parent reads the parent interface of the endpoint's device. A renamed parent still has its index.
func (k *Kernel) parent(t Tenure) (*linkState, error) {
	if t.Number != 0 {
		if l, err := k.listing().linkAt(t.Number); l != nil || err != nil {
			return l, err
		}
	}
	return k.listing().link(t.Parent)
}

// searched is what a search has found that is not the container's, as far as is known.
type searched struct {
	// hidden are the MAC addresses to which the parent listened before and listens now, and that no device
	// has which was found and is there still. Seen are those of devices that were up.
	hidden, seen []heddle.MAC
	// down are the devices that were down. The caller closes their namespaces.
	down []upper
	// left says that a device went while it was looked at. It may be elsewhere.
	left bool
}

// seenAll reports whether the search has seen devices with all these MAC addresses.
func (s searched) seenAll(all []heddle.MAC) bool {
	return !slices.ContainsFunc(all, func(mac heddle.MAC) bool { return !slices.Contains(s.seen, mac) })
}

// errLeft says that a device is not where it was found.
var errLeft = errors.New("the device has gone elsewhere, or ended")

// evict searches once, or shares a search, and deletes what is the container's.
func (k *Kernel) evict(t Tenure, parent linkState, pod *Netns, deep bool, before []heddle.MAC) (found searched, err error) {
	look := k.look
	if deep {
		look = k.lookDeep
	}
	all, uppers, end, err := look(pod)
	if err != nil {
		return found, quarantined(t, err.Error())
	}
	defer end()
	var errs []error
	var up []upper
	for _, u := range stackedOn(uppers, k.home, parent.index) {
		switch mine, err := k.isMine(t, u, pod, all); {
		case err == errLeft:
			found.left = true
		case err != nil:
			errs = append(errs, err)
		case mine:
			errs = append(errs, k.deleteUpper(u))
		case u.up:
			up = append(up, u)
			found.seen = append(found.seen, u.mac)
		default:
			if ns, err := u.ns.Dup(); err == nil {
				found.down = append(found.down, upper{linkState: u.linkState, ns: ns})
			}
		}
	}
	found.hidden, err = k.hidden(before, up, t, parent)
	return found, errors.Join(append(errs, err)...)
}

func closeAll(some []upper) {
	for _, u := range some {
		u.ns.Close()
	}
}

// upTime is how long a device that was found down may take to come up again.
const upTime = time.Second

// awaitUp returns the MAC addresses that belong to none of the devices that are up, now or soon. A
// container may take its own device down and up all the time; that does not hide the device. Two
// macvlan devices with one MAC address cannot be up on one parent at the same time
// (macvlan_addr_busy in drivers/net/macvlan.c).
func awaitUp(macs []heddle.MAC, down []upper) []heddle.MAC {
	down = slices.DeleteFunc(slices.Clone(down), func(u upper) bool { return !slices.Contains(macs, u.mac) })
	for end := time.Now().Add(upTime); len(down) > 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		down = slices.DeleteFunc(down, func(u upper) bool {
			now := u.again()
			if now != nil && now.up {
				macs = slices.DeleteFunc(slices.Clone(macs), func(mac heddle.MAC) bool { return mac == now.mac })
			}
			return now == nil || now.up
		})
	}
	return macs
}

// again reads the device again; nil if it is gone.
func (u upper) again() *linkState {
	s, err := podSession(u.ns)
	if err != nil {
		return nil
	}
	defer s.close()
	l, err := s.linkAt(u.index)
	if err != nil {
		return nil
	}
	return l
}

// isMine reports whether a device belongs to the container. It fails if this cannot be decided.
func (k *Kernel) isMine(t Tenure, u upper, pod *Netns, all namespaces) (bool, error) {
	if u.ns.Same(k.home) || !u.onLAN() {
		return false, nil
	}
	if u.cookie == 0 || t.Known(u.cookie, u.index) {
		return false, nil // its namespace has ended, or the device is another endpoint's
	}
	if pod != nil && (pod.Same(u.ns) || pod.ownsUsersOf(u.ns)) {
		return true, nil
	}
	led := pod != nil && all.leads(pod, u.ns, k.home)
	s, err := podSession(u.ns)
	if err != nil {
		return false, nil
	}
	defer s.close()
	addrs, err := s.nicAddresses(u.index)
	if absent(err) {
		return false, errLeft
	}
	if err != nil {
		return false, refused("list", "addresses of "+u.name, err)
	}
	has := slices.ContainsFunc(addrs, func(x heddle.NICAddress) bool {
		return slices.ContainsFunc(t.Addrs, func(p netip.Prefix) bool { return p.Addr() == x.Prefix.Addr() })
	})
	own := has || u.hasMAC() && u.mac == t.MAC
	switch {
	case own && led:
		return true, nil
	case own:
		return false, quarantined(t, fmt.Sprintf("the %s device %q in %s has its address, and it is not known whose namespace that is", u.kind, u.name, u.ns.path))
	case led && u.hasMAC() && !slices.Contains(t.Before, u.mac) && !t.soonKnown(u):
		return false, quarantined(t, fmt.Sprintf("the %s device %q came to %s while the container had a way there, and it is not known whose it is", u.kind, u.name, u.ns.path))
	}
	return false, nil
}

// soonKnown reports whether a device that has come is another endpoint's, now or when its attach has ended.
// Many such devices are waited for no longer than one.
func (t Tenure) soonKnown(u upper) bool {
	for !t.Known(u.cookie, u.index) {
		if time.Now().After(t.soon) {
			return false
		}
		time.Sleep(upTime / 20)
	}
	return true
}

// deleteUpper deletes a device in its namespace.
func (k *Kernel) deleteUpper(u upper) error {
	if err := k.trip("remove", "link/"+u.name); err != nil {
		return err
	}
	s, err := podSession(u.ns)
	if err != nil {
		return nil // the namespace has ended, and the device with it
	}
	defer s.close()
	return refused("remove", "link/"+u.name, ignoreAbsent(s.delete(u.index)))
}

// hidden returns the MAC addresses that the parent listened to both before and after the search,
// and that no device which the search has found, and which is up still, has: a neighbour that has gone
// meanwhile does not account for another device with its address.
func (k *Kernel) hidden(before []heddle.MAC, up []upper, t Tenure, parent linkState) ([]heddle.MAC, error) {
	now, err := k.listing().listenedMACs(parent)
	return slices.DeleteFunc(now, func(mac heddle.MAC) bool {
		return !slices.Contains(before, mac) || slices.Contains(t.Before, mac) || t.Asked != nil && t.Asked(mac) || slices.ContainsFunc(up, func(u upper) bool {
			if u.mac != mac {
				return false
			}
			l := u.again()
			return l != nil && l.up && l.mac == mac
		})
	}), refused("list", "MAC addresses of "+parent.name, err)
}

// EndTime is how long the kernel may take to end a closed namespace and the devices in it. The
// kernel does this in the background, one namespace after another (cleanup_net in
// net/core/net_namespace.c). A removal that ends in quarantine may have waited this long.
const EndTime = 5 * time.Second

// waitGone waits until the parent listens to none of the addresses any more, and reports
// whether this happened in time.
func (k *Kernel) waitGone(macs []heddle.MAC, parent linkState, until time.Time) bool {
	for ; time.Now().Before(until); time.Sleep(EndTime / 100) {
		now, err := k.listing().listenedMACs(parent)
		if err == nil && !slices.ContainsFunc(now, func(mac heddle.MAC) bool { return slices.Contains(macs, mac) }) {
			return true
		}
	}
	return false
}

func quarantined(t Tenure, why string) error {
	return heddle.Wrap(heddle.Quarantined, "take a container off the LAN of", t.Parent, errors.New(why),
		"end the container, or delete that device: until it is gone, its addresses are given to nobody, and the agent tries again every few seconds")
}

func orList(all []heddle.MAC) string {
	var words []string
	for _, m := range all {
		words = append(words, string(m))
	}
	return strings.Join(words, ", ")
}
