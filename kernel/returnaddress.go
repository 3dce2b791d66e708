package kernel

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// addresses restores the addresses while the NIC is down. The IPv6 addresses of a NIC that will be
// up are restored when it comes up.
func (h *nicReturn) addresses() error {
	return h.eachAddress(0, excl, func(ip netip.Addr) bool { return ip.Is4() || !h.n.Was.Up })
}

// up brings the NIC up, and makes its IPv6 addresses without duplicate address detection, because
// otherwise their routes would wait for a second. The addresses were the NIC's own before. The
// link-local address is among them. The kernel would run duplicate address detection for one that
// it generates, so it generates none meanwhile.
func (h *nicReturn) up() error {
	if !h.n.Was.Up {
		return nil
	}
	const none = "1"
	mode, err := h.generate(none)
	err = errors.Join(err, h.host.rt.execute(raiseLink(h.index, true)))
	err = errors.Join(err, h.eachAddress(unix.IFA_F_NODAD, excl, netip.Addr.Is6))
	if mode != "" && mode != none {
		_, again := h.generate(mode)
		err = errors.Join(err, again)
	}
	return err
}

// generate sets how the kernel generates link-local addresses, and returns the earlier setting; ""
// without IPv6.
func (h *nicReturn) generate(mode string) (before string, err error) {
	name := "net/ipv6/conf/" + h.name + "/addr_gen_mode"
	err = h.host.ns.Do(func() error {
		files := h.host.openSettings()
		defer files.close()
		var err error
		if before, err = files.read(name); err != nil {
			return nil
		}
		return files.write(name, mode)
	})
	return before, refused("make", "sysctl/"+name, err)
}

// maxName is the length that the kernel has room for (IFNAMSIZ), in labels too.
const maxName = 15

// eachAddress makes the addresses that meant selects, with further flags.
func (h *nicReturn) eachAddress(extra uint32, how int, meant func(netip.Addr) bool) error {
	var errs []error
	for _, a := range h.n.Was.Addrs {
		if a.Label == h.n.Name || strings.HasPrefix(a.Label, h.n.Name+":") {
			a.Label = h.name + strings.TrimPrefix(a.Label, h.n.Name)
			if len(a.Label) > maxName {
				a.Label = h.name
			}
		}
		r, living := nicAddressRequest(how, h.index, a, h.age(), extra)
		if !living || !meant(a.Prefix.Addr()) {
			continue
		}
		if err := h.host.rt.execute(r); err != nil && !exists(err) {
			errs = append(errs, fmt.Errorf("address %s: %w", a.Prefix, err))
		}
	}
	return errors.Join(errs...)
}

// routeTimeout bounds the wait for what routes depend on: a carrier, and addresses that become
// usable.
const routeTimeout = 5 * time.Second

// routes restores the routes in rounds, since a route may depend on another one, or on an address
// that is not usable yet. Then the addresses get their own flags.
func (h *nicReturn) routes() error {
	if !h.n.Was.Up {
		return nil // there can be none
	}
	todo := h.n.Was.Routes
	var last error
	for end := time.Now().Add(routeTimeout); ; time.Sleep(50 * time.Millisecond) {
		todo, last = h.routeRound(todo)
		if len(todo) == 0 || time.Now().After(end) {
			break
		}
	}
	if h.lapsed() {
		last = nil // the kernel deleted the route with an address whose lifetime is over
	}
	return errors.Join(last, h.eachAddress(0, unix.NLM_F_REPLACE, netip.Addr.Is6))
}

// lapsed reports whether the lifetime of one of the addresses has ended meanwhile.
func (h *nicReturn) lapsed() bool {
	return slices.ContainsFunc(h.n.Was.Addrs, func(a heddle.NICAddress) bool {
		return a.Finite && a.Valid <= uint32(h.age().Seconds())
	})
}

// routeRound makes the routes that can be made, and returns the others with the reason.
func (h *nicReturn) routeRound(all []heddle.NICRoute) (left []heddle.NICRoute, err error) {
	for _, x := range all {
		r, living := nicRouteRequest(h.index, x, h.age())
		if !living {
			continue
		}
		if e := h.host.rt.execute(r); e != nil && !exists(e) {
			left, err = append(left, x), errors.Join(err, fmt.Errorf("route to %s: %w", x.Dst, e))
		}
	}
	return left, err
}
