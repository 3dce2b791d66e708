package kernel

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
)

// nicReturn brings a NIC back to the host and restores its state. It is idempotent: after an
// interruption at any point, the next run continues from where the NIC then is.
type nicReturn struct {
	k         *Kernel
	n         heddle.NIC
	host, pod *session // pod is nil if its namespace is gone
	trip      func(verb, key string) error
	index     int
	name      string
	// all are the namespaces that were searched for the NIC; sites are the sessions in those that
	// are open.
	all   namespaces
	sites []*session
	// stayed says that the NIC never left, so nothing is stacked on it that was not there before.
	stayed bool
	// failed collects what could not be restored. A failure does not stop the rest.
	failed  error
	tripped bool
}

func (h *nicReturn) run() (err error, tripped bool) {
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
	if h.name != h.n.Name && h.n.Plugged == nil { // one that was plugged in is taken out soon, or waits as it is
		alias = heddle.NICMark + " was=" + h.n.Name
	}
	err = errors.Join(h.failed, refused("unmark", h.n.Key(), h.host.rt.execute(aliasRequest(h.index, alias))))
	if err == nil {
		h.k.stripped.Delete(h.loan())
	}
	return err, false
}

// reportLost reports what cannot be restored.
func (h *nicReturn) reportLost(what string, args ...any) {
	if h.k.Lost != nil {
		h.k.Lost(h.n.Name, fmt.Sprintf(what, args...))
	}
}

func (h *nicReturn) ask(what string) error {
	if h.trip == nil {
		return nil
	}
	err := h.trip("return", h.n.Key()+"/"+what)
	h.tripped = err != nil
	return err
}

// locate finds the NIC wherever it is, and moves it home. It may also find the NIC on the host,
// where the kernel puts a physical NIC whose namespace has ended. It reports false for a NIC that
// is gone.
func (h *nicReturn) locate() (bool, error) {
	defer h.closeOthers()
	f, err := h.seek()
	if err != nil || f == nil {
		return false, err
	}
	if f.at.pod {
		h.index, h.name = f.link.index, h.n.Name
		if err := h.moveHome(f.at, f.link); err != nil && !h.tripped {
			return false, h.lost(fmt.Sprintf("it cannot be moved from %s (%v)", f.at.ns.path, err))
		} else if err != nil {
			return false, err
		}
		if f, err = h.seek(); err != nil || f == nil {
			return false, err
		}
		if f.at.pod {
			return false, h.lost("it was moved while it was brought back")
		}
	}
	h.index, h.name = f.link.index, f.link.name
	if err := h.mark(f.link); err != nil {
		return false, err
	}
	h.closeOthers() // bare searches, too, and needs the lock
	if h.stayed {
		return true, nil
	}
	return true, h.removeStacked()
}

// mark marks a NIC that the kernel has returned without our mark: the container may have removed
// it. With the mark, the return continues after a crash.
func (h *nicReturn) mark(l linkState) error {
	if l.alias == h.n.Alias {
		return nil
	}
	return h.host.rt.execute(aliasRequest(l.index, h.n.Alias))
}

// moveHome asks for the index that the NIC had; another interface may have that index by now. It
// drops the alternative names first, because the host may already use one of them.
func (h *nicReturn) moveHome(at *session, l linkState) error {
	if err := h.ask("move"); err != nil {
		return err
	}
	index := l.index
	if err := errors.Join(at.rt.execute(aliasRequest(index, h.n.Alias), raiseLink(index, false)), h.dropAltNames(at, index)); err != nil {
		return err
	}
	// NIC managers know the NIC by its MAC address, which the container may have changed. If the driver refuses, or the container changes
	// it again, it is restored on the host.
	own := l
	own.mac = h.n.MAC
	if requests := changeLink(index, l, own); len(requests) > 0 {
		_ = at.rt.execute(requests...)
	}
	name, err := h.freeName()
	if err != nil {
		return err
	}
	// The kernel announces an arriving link with its old name, and then with the new one. A NIC
	// manager would see the container's name first. So the NIC is renamed before. That fails if the
	// container has another link with the name, and the move then sets the name.
	_ = at.rt.execute(renameRequest(index, name))
	if at.rt.execute(moveRequest(index, h.host.ns, name, h.n.Was.Index)) == nil {
		return nil
	}
	return at.rt.execute(moveRequest(index, h.host.ns, name, 0))
}

func ignoreAbsent(err error) error {
	if absent(err) {
		return nil
	}
	return err
}

// freeName is the NIC's own name or, if that is in use, one that says which NIC it is.
func (h *nicReturn) freeName() (string, error) {
	other, err := h.host.link(h.n.Name)
	if err != nil || other == nil || other.alias == h.n.Alias {
		return h.n.Name, err
	}
	return h.n.ReturnName(), nil
}

// rename renames a NIC that the kernel has returned under some name.
func (h *nicReturn) rename() error {
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

// settings restores the settings of the link. The link is down, since otherwise its MAC address may
// not be changed.
func (h *nicReturn) settings() error {
	w := h.n.Was
	live, err := h.host.link(h.name)
	if err != nil || live == nil {
		return errors.Join(err, fmt.Errorf("interface %s is gone", h.name))
	}
	var have heddle.NICState
	if err := h.host.nicFlags(h.index, &have); err != nil {
		return err
	}
	want := *live
	want.mtu, want.mac, want.group, want.alias = w.MTU, h.n.MAC, w.Group, live.alias
	if reqs := changeLink(h.index, *live, want); len(reqs) > 0 {
		err = errors.Join(err, h.host.rt.execute(raiseLink(h.index, false)), h.host.rt.execute(reqs...))
	}
	return errors.Join(err, h.putSettings(have))
}

// namedSysctls are the settings with the NIC's present name.
func (h *nicReturn) namedSysctls() []heddle.Sysctl {
	all := make([]heddle.Sysctl, len(h.n.Was.Sysctls))
	for i, c := range h.n.Was.Sysctls {
		all[i] = heddle.Sysctl{Name: strings.Replace(c.Name, "/"+h.n.Name+"/", "/"+h.name+"/", 1), Value: c.Value}
	}
	return all
}

func (h *nicReturn) neighbours() error {
	var errs []error
	for _, n := range h.n.Was.Neighbours {
		errs = append(errs, h.host.rt.execute(nicNeighbourRequest(h.index, n)))
	}
	return errors.Join(errs...)
}

func (h *nicReturn) age() time.Duration { return time.Since(h.n.Was.Taken) }
