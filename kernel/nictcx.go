package kernel

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
)

// The tcx programs of an interface see all packets that come in or go out before queueing
// disciplines do (kernel/bpf/tcx.c, from Linux 6.6 on). They stay attached when the interface moves
// to another namespace. Those that were attached without a BPF link stay until they are detached.
var tcxHooks = []string{"ingress", "egress"}

func tcxKind(hook string) ebpf.AttachType {
	if hook == "ingress" {
		return ebpf.AttachTCXIngress
	}
	return ebpf.AttachTCXEgress
}

// tcx lists the programs on an interface; none where the kernel has no tcx.
func (s *session) tcx(index int) (all []heddle.TCXProgram, err error) {
	all = []heddle.TCXProgram{} // an empty list; nil means that nobody looked
	err = s.ns.Do(func() error {
		for _, hook := range tcxHooks {
			found, err := link.QueryPrograms(link.QueryOptions{Target: index, Attach: tcxKind(hook)})
			if errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, unix.EINVAL) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("list tcx programs at its %s: %w", hook, err)
			}
			for _, p := range found.Programs {
				held, _ := p.LinkID()
				all = append(all, heddle.TCXProgram{Hook: hook, Program: uint32(p.ID), Link: uint32(held)})
			}
		}
		return nil
	})
	return all, err
}

// isAmong reports whether a program is in the list. The owner of a BPF link may have replaced the
// program in it.
func isAmong(p heddle.TCXProgram, all []heddle.TCXProgram) bool {
	return slices.ContainsFunc(all, func(o heddle.TCXProgram) bool {
		return o.Hook == p.Hook && o.Link == p.Link && (o.Link != 0 || o.Program == p.Program)
	})
}

// roundsTCX is how often the hooks are cleared. Nobody can attach a program to an interface in
// another namespace than his own, so the second round only checks.
const roundsTCX = 4

// dropTCX detaches the programs that were not there when the NIC was given away, and reports which
// programs are missing. The record of an older agent does not say what was there; then all programs
// stay.
func (h *nicReturn) dropTCX() error {
	was := h.n.Was.TCX
	if was == nil {
		return nil
	}
	for range roundsTCX {
		there, err := h.host.tcx(h.index)
		if err != nil {
			return err
		}
		errs := []error{}
		for _, p := range there {
			if !isAmong(p, was) {
				errs = append(errs, h.host.ns.Do(func() error { return detachTCX(h.index, p) }))
			}
		}
		switch {
		case len(errs) == 0:
			h.missingTCX(was, there)
			return nil
		case errors.Join(errs...) != nil:
			return errors.Join(errs...)
		}
	}
	return errors.New("its tcx programs come back")
}

// missingTCX reports which programs are no longer there.
func (h *nicReturn) missingTCX(was, there []heddle.TCXProgram) {
	for _, p := range was {
		if !isAmong(p, there) {
			h.reportLost("tcx program at %s (id %d)", p.Hook, p.Program)
		}
	}
}

// detachTCX detaches one program: through the BPF link that holds it, if there is one.
func detachTCX(index int, p heddle.TCXProgram) error {
	err := takeOffTCX(index, p)
	if err == nil || errors.Is(err, unix.ENOENT) { // it has been detached meanwhile
		return nil
	}
	return fmt.Errorf("take off its tcx program at %s (id %d, BPF link %d): %w", p.Hook, p.Program, p.Link, err)
}

func takeOffTCX(index int, p heddle.TCXProgram) error {
	if p.Link != 0 {
		l, err := link.NewFromID(link.ID(p.Link))
		if err != nil {
			return err
		}
		defer l.Close()
		return l.Detach()
	}
	program, err := ebpf.NewProgramFromID(ebpf.ProgramID(p.Program))
	if err != nil {
		return err
	}
	defer program.Close()
	return link.RawDetachProgram(link.RawDetachProgramOptions{Target: index, Program: program, Attach: tcxKind(p.Hook)})
}
