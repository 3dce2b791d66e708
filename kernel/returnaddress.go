package kernel

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// addresses puts the addresses back while the NIC is down. One of IPv6 skips
// the search for duplicates, or its routes would have to wait for a second: it
// was the NIC's own address before.
func (h *homecoming) addresses() error {
	return h.eachAddress(unix.IFA_F_NODAD, excl)
}

// maxName is what the kernel has room for (IFNAMSIZ), in labels too.
const maxName = 15

// eachAddress makes each address, with further flags for those of IPv6.
func (h *homecoming) eachAddress(extra uint32, how int) error {
	var errs []error
	for _, a := range h.n.Was.Addrs {
		if a.Label == h.n.Name || strings.HasPrefix(a.Label, h.n.Name+":") {
			a.Label = h.name + strings.TrimPrefix(a.Label, h.n.Name)
			if len(a.Label) > maxName {
				a.Label = h.name
			}
		}
		flags := uint32(0)
		if a.Prefix.Addr().Is6() {
			flags = extra
		} else if how != excl {
			continue
		}
		r, living := nicAddressRequest(how, h.index, a, h.age(), flags)
		if !living {
			continue
		}
		if err := h.host.rt.execute(r); err != nil && !exists(err) {
			errs = append(errs, fmt.Errorf("address %s: %w", a.Prefix, err))
		}
	}
	return errors.Join(errs...)
}

// routePatience bounds the wait for what routes stand on: a carrier, addresses
// that become usable.
const routePatience = 3 * time.Second

// routes puts the routes back, in rounds: one may stand on another, or on an
// address that is not usable yet. Then the addresses get their own flags.
func (h *homecoming) routes() error {
	if !h.n.Was.Up {
		return h.eachAddress(0, unix.NLM_F_REPLACE)
	}
	todo := h.n.Was.Routes
	var last error
	for end := time.Now().Add(routePatience); ; time.Sleep(50 * time.Millisecond) {
		todo, last = h.routeRound(todo)
		if len(todo) == 0 || time.Now().After(end) {
			break
		}
	}
	return errors.Join(last, h.eachAddress(0, unix.NLM_F_REPLACE))
}

// routeRound makes what can be made, and returns the others with why.
func (h *homecoming) routeRound(all []heddle.NICRoute) (left []heddle.NICRoute, err error) {
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
