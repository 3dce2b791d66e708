package kernel

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// homecoming brings a NIC back to the host and makes it what it was. The mark
// goes last: cut off anywhere before, the return goes on where the NIC is found
// next; without the mark it is done.
type homecoming struct {
	n         heddle.NIC
	host, pod *site // pod is nil if its namespace is gone
	trip      func(verb, key string) error
	index     int
	name      string
	// failed collects what could not be put back; it does not keep the rest.
	failed  error
	tripped bool
}

func (h *homecoming) run() (err error, tripped bool) {
	found, err := h.locate()
	if err != nil || !found {
		return refused("bring back", h.n.Key(), err), h.tripped
	}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"name", h.rename}, {"settings", h.settings}, {"sysctls", func() error { return h.host.putSysctls(h.name, h.namedSysctls()) }},
		{"addresses", h.addresses}, {"up", h.up}, {"flags", h.flags}, {"neighbours", h.neighbours}, {"routes", h.routes},
	} {
		if err := h.ask(step.what); err != nil {
			return err, true
		}
		if err := step.do(); err != nil {
			h.failed = errors.Join(h.failed, refused("put back "+step.what+" of", h.n.Key(), err))
		}
	}
	if err := h.ask("mark"); err != nil {
		return err, true
	}
	alias := h.n.Was.Alias
	if h.name != h.n.Name {
		alias = heddle.NICMark + " was=" + h.n.Name
	}
	return errors.Join(h.failed, refused("unmark", h.n.Key(), h.host.rt.execute(aliasRequest(h.index, alias)))), false
}

func (h *homecoming) ask(what string) error {
	if h.trip == nil {
		return nil
	}
	err := h.trip("return", h.n.Key()+"/"+what)
	h.tripped = err != nil
	return err
}

// locate finds the NIC in the container and moves it, or finds it on the host,
// where the kernel puts a physical one whose namespace has died. One that is
// nowhere is back already, or gone for good.
func (h *homecoming) locate() (bool, error) {
	live, err := h.host.marked(h.n)
	if err != nil {
		return false, err
	}
	if live == nil {
		inside, err := h.inside()
		if err != nil || inside == nil {
			return false, err
		}
		if err := h.moveHome(*inside); err != nil {
			return false, err
		}
		if live, err = h.host.marked(h.n); err != nil || live == nil {
			return false, err
		}
	}
	h.index, h.name = live.index, live.name
	return true, nil
}

// inside finds the NIC in the container; nil if it is not there.
func (h *homecoming) inside() (*linkState, error) {
	l, err := h.pod.marked(h.n)
	if err != nil || l != nil {
		return l, err
	}
	if home, err := h.host.home(h.n); err != nil || home {
		return nil, err
	}
	return h.pod.disguised(h.n)
}

// moveHome asks for the index that the NIC had; another one may have it by now.
// What the container has built on the NIC would go on using it, and goes.
func (h *homecoming) moveHome(l linkState) error {
	if err := h.ask("move"); err != nil {
		return err
	}
	index := l.index
	upper, err := h.pod.uppers(index)
	for _, u := range upper {
		err = errors.Join(err, ignoreAbsent(h.pod.rt.execute(deleteLink(u.index))))
	}
	if l.alias != h.n.Alias {
		err = errors.Join(err, h.pod.rt.execute(aliasRequest(index, h.n.Alias)))
	}
	if err = errors.Join(err, h.pod.rt.execute(raiseLink(index, false))); err != nil {
		return err
	}
	name, err := h.freeName()
	if err != nil {
		return err
	}
	// The kernel tells of a link that arrives by the name that it had, and then of the
	// new one: a NIC manager would meet it by the container's. Where the container has
	// another link of that name this fails, and the move gives the name all the same.
	_ = h.pod.rt.execute(renameRequest(index, name))
	if h.pod.rt.execute(moveRequest(index, h.host.ns, name, h.n.Was.Index)) == nil {
		return nil
	}
	return h.pod.rt.execute(moveRequest(index, h.host.ns, name, 0))
}

func ignoreAbsent(err error) error {
	if absent(err) {
		return nil
	}
	return err
}

// freeName is the NIC's own name, or one that says which NIC it is.
func (h *homecoming) freeName() (string, error) {
	other, err := h.host.link(h.n.Name)
	if err != nil || other == nil || other.alias == h.n.Alias {
		return h.n.Name, err
	}
	return h.n.ReturnName(), nil
}

// rename is for a NIC that the kernel has put back, under whatever name.
func (h *homecoming) rename() error {
	name, err := h.freeName()
	if err != nil || name == h.name {
		return err
	}
	if err := h.host.rt.execute(raiseLink(h.index, false), renameRequest(h.index, name)); err != nil {
		return err
	}
	h.name = name
	return nil
}

// settings of the link; it is down, since an address may not change otherwise.
func (h *homecoming) settings() error {
	w := h.n.Was
	live, err := h.host.link(h.name)
	if err != nil || live == nil {
		return errors.Join(err, fmt.Errorf("interface %s is gone", h.name))
	}
	var have heddle.NICState
	if err := h.host.nicFlags(h.name, &have); err != nil {
		return err
	}
	if have.XDP != 0 && have.XDP != w.XDP {
		err = h.host.rt.execute(dropXDP(h.index))
	}
	if have.XDP != w.XDP && w.XDP != 0 {
		err = errors.Join(err, fmt.Errorf("its XDP program (id %d) was taken off", w.XDP))
	}
	want := *live
	want.mtu, want.mac, want.group, want.alias = w.MTU, h.n.MAC, w.Group, live.alias
	if reqs := changeLink(h.index, *live, want); len(reqs) > 0 {
		err = errors.Join(err, h.host.rt.execute(raiseLink(h.index, false)), h.host.rt.execute(reqs...))
	}
	if have.QueueLen != w.QueueLen {
		r := request(unix.RTM_NEWLINK, 0, indexed(h.index))
		r.AddData(numberAttr(unix.IFLA_TXQLEN, uint32(w.QueueLen)))
		err = errors.Join(err, h.host.rt.execute(r))
	}
	return err
}

// namedSysctls are the settings under the name that the NIC has now.
func (h *homecoming) namedSysctls() []heddle.Sysctl {
	all := make([]heddle.Sysctl, len(h.n.Was.Sysctls))
	for i, c := range h.n.Was.Sysctls {
		all[i] = heddle.Sysctl{Name: strings.Replace(c.Name, "/"+h.n.Name+"/", "/"+h.name+"/", 1), Value: c.Value}
	}
	return all
}

// dropXDP takes off a program that the container has attached.
func dropXDP(index int) *nl.NetlinkRequest {
	r := request(unix.RTM_NEWLINK, 0, indexed(index))
	xdp := nl.NewRtAttr(unix.IFLA_XDP|unix.NLA_F_NESTED, nil)
	xdp.AddRtAttr(nl.IFLA_XDP_FD, nl.Uint32Attr(0xffffffff))
	r.AddData(xdp)
	return r
}

func (h *homecoming) flags() error {
	w := h.n.Was
	head := indexed(h.index)
	for _, f := range []struct {
		on  bool
		bit uint32
	}{{w.Promisc, unix.IFF_PROMISC}, {w.AllMulti, unix.IFF_ALLMULTI}, {w.NoARP, unix.IFF_NOARP}} {
		head.Change |= f.bit
		if f.on {
			head.Flags |= f.bit
		}
	}
	return h.host.rt.execute(request(unix.RTM_NEWLINK, 0, head))
}

func (h *homecoming) neighbours() error {
	var errs []error
	for _, n := range h.n.Was.Neighbours {
		errs = append(errs, h.host.rt.execute(nicNeighbourRequest(h.index, n)))
	}
	return errors.Join(errs...)
}

func (h *homecoming) age() time.Duration { return time.Since(h.n.Was.Taken) }
