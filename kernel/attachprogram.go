package kernel

import (
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The qdiscs that bear filters. When one is made, the kernel searches a list of the blocks of all
// interfaces, once for each of its own blocks (flow_indr_dev_setup_offload): the more ports there
// are, the longer an attach takes. So a port's has one block, and no clsact's two.
const (
	ingressQdisc = "ingress"
	clsactQdisc  = "clsact"
)

// Our program is attached to an interface's ingress as a direct-action filter of such a qdisc
// (tc-bpf(8)). The filter is known by its name and priority. TCA_BPF_ID is defined in
// linux/pkt_cls.h.
const (
	programName     = "heddle"
	programPriority = heddle.RouteProtocol
	programHandle   = 1
	bpfID           = 11
)

func qdiscRequest(kind, flags, index int, qdisc string) *nl.NetlinkRequest {
	r := request(kind, flags, &nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(index), Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT})
	r.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated(qdisc)))
	return r
}

func filterRequest(kind, flags, index int) *nl.NetlinkRequest {
	return request(kind, flags, &nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(index), Handle: programHandle, Parent: netlink.HANDLE_MIN_INGRESS,
		Info: netlink.MakeHandle(programPriority, nl.Swap16(unix.ETH_P_ALL))})
}

// addProgram turns a filter request into one for a direct-action program.
func addProgram(r *nl.NetlinkRequest, p *ebpf.Program, name string) {
	r.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated("bpf")))
	options := nl.NewRtAttr(nl.TCA_OPTIONS, nil)
	options.AddRtAttr(nl.TCA_BPF_FD, nl.Uint32Attr(uint32(p.FD())))
	options.AddRtAttr(nl.TCA_BPF_NAME, nl.ZeroTerminated(name))
	options.AddRtAttr(nl.TCA_BPF_FLAGS, nl.Uint32Attr(nl.TCA_BPF_FLAG_ACT_DIRECT))
	r.AddData(options)
}

// attachProgram attaches a program to an interface and replaces our earlier one there. The
// interface gets the qdisc if it has none: one of an older agent stays.
func (s *session) attachProgram(index int, p *ebpf.Program, qdisc string) error {
	r := filterRequest(unix.RTM_NEWTFILTER, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, index)
	addProgram(r, p, programName)
	if err := s.rt.execute(qdiscRequest(unix.RTM_NEWQDISC, excl, index, qdisc)); err != nil && !exists(err) {
		return err
	}
	return s.rt.execute(r)
}

// detachProgram removes our filter. The qdisc stays until the interface is deleted: while a
// qdisc is added or removed, the interface drops what it sends (dev_deactivate).
func (s *session) detachProgram(index int) error {
	if err := s.rt.execute(filterRequest(unix.RTM_DELTFILTER, 0, index)); err != nil && !absent(err) && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

// detachProgramAndQdisc removes our filter, and also the qdisc if nobody else has a filter there.
func (s *session) detachProgramAndQdisc(index int) error {
	if err := s.detachProgram(index); err != nil {
		return err
	}
	return s.dropBareQdisc(index)
}

// dropBareQdisc removes the qdisc if nobody has a filter there.
func (s *session) dropBareQdisc(index int) error {
	for _, parent := range []uint32{netlink.HANDLE_MIN_INGRESS, netlink.HANDLE_MIN_EGRESS} {
		left, err := s.filters(index, parent)
		if err != nil || len(left) > 0 {
			return err
		}
	}
	err := s.rt.execute(qdiscRequest(unix.RTM_DELQDISC, 0, index, clsactQdisc))
	if errors.Is(err, unix.EINVAL) {
		return nil // there is none
	}
	return err
}

// filter is a tc filter on an interface. Ours has our name.
type filter struct {
	id   ebpf.ProgramID
	ours bool
}

func (s *session) filters(index int, parent uint32) ([]filter, error) {
	return list(s.rt, func() *nl.NetlinkRequest {
		return request(unix.RTM_GETTFILTER, 0, &nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(index), Parent: parent})
	}, func(b []byte) (filter, bool) {
		attrs := after(nl.SizeofTcMsg, b)
		options := attributes(attrs.get(nl.TCA_OPTIONS))
		if text(attrs.get(nl.TCA_KIND)) != "bpf" || options.get(bpfID) == nil {
			return filter{}, attrs.get(nl.TCA_OPTIONS) != nil
		}
		return filter{ebpf.ProgramID(nl.NativeEndian().Uint32(options.get(bpfID))), text(options.get(nl.TCA_BPF_NAME)) == programName}, true
	})
}

// attachedProgram finds our program on an interface's ingress; 0 if there is none.
func (s *session) attachedProgram(index int) (ebpf.ProgramID, error) {
	all, err := s.filters(index, netlink.HANDLE_MIN_INGRESS)
	for _, f := range all {
		if f.ours {
			return f.id, err
		}
	}
	if absent(err) || errors.Is(err, unix.EINVAL) {
		return 0, nil // no qdisc
	}
	return 0, err
}

// underlayProgram finds our program on the underlay's interface; 0 if there is none. The program is
// attached through tcx (since Linux 6.6), which needs no qdisc and does not touch the programs of
// others; without tcx it is attached as on a port.
func (s *session) underlayProgram(index int) (id ebpf.ProgramID, tcx bool, err error) {
	err = s.ns.Do(func() error {
		q, err := link.QueryPrograms(link.QueryOptions{Target: index, Attach: ebpf.AttachTCXIngress})
		if err != nil {
			return nil // kernels older than tcx
		}
		for _, p := range q.Programs {
			if isUnderlayProgram(p.ID) {
				id, tcx = p.ID, true
			}
		}
		return nil
	})
	if err == nil && id == 0 {
		id, err = s.attachedProgram(index)
	}
	return id, tcx, err
}

// isUnderlayProgram reports whether a program has the name of ours (src/fast.c).
func isUnderlayProgram(id ebpf.ProgramID) bool {
	p, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return false
	}
	defer p.Close()
	info, err := p.Info()
	return err == nil && info.Name == "from_wire"
}

// attachUnderlayProgram attaches the program to the underlay's interface, and replaces old.
func (s *session) attachUnderlayProgram(index int, p *ebpf.Program, old ebpf.ProgramID, tcx bool) error {
	err := s.ns.Do(func() error {
		o := link.RawAttachProgramOptions{Target: index, Program: p, Attach: ebpf.AttachTCXIngress}
		if old == 0 || !tcx {
			o.Anchor = link.Head()
			return link.RawAttachProgram(o)
		}
		before, err := ebpf.NewProgramFromID(old)
		if err != nil {
			return err
		}
		defer before.Close()
		o.Anchor = link.ReplaceProgram(before)
		return link.RawAttachProgram(o)
	})
	if errors.Is(err, link.ErrNotSupported) || errors.Is(err, unix.EINVAL) {
		return s.attachProgram(index, p, clsactQdisc)
	}
	return err
}

// detachUnderlayProgram detaches our program from the underlay's interface.
func (s *session) detachUnderlayProgram(index int) error {
	id, tcx, err := s.underlayProgram(index)
	if err != nil || id == 0 {
		return err
	}
	if !tcx {
		return s.detachProgramAndQdisc(index)
	}
	p, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return err
	}
	defer p.Close()
	return s.ns.Do(func() error {
		return link.RawDetachProgram(link.RawDetachProgramOptions{Target: index, Program: p, Attach: ebpf.AttachTCXIngress})
	})
}
