package kernel

import (
	"errors"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// divertKind are the filters that lead what arrives on a link through another device.
type divertKind struct{}

func (divertKind) make(a *attempt, s *session, want *heddle.State) error {
	return each(want.Diverts, func(x heddle.Divert) error { return a.divert(s, x) })
}

// divert makes the filter, or turns it to another device. The device is up first: else what arrives would be dropped.
func (a *attempt) divert(s *session, x heddle.Divert) error {
	return a.step("make", x.Key(), func() error {
		index, err := s.ifindex(x.Link)
		if err != nil {
			return err
		}
		to, err := s.ifindex(x.To)
		if err != nil {
			return err
		}
		old, err := s.divertOn(index)
		if err != nil || old != nil && old.to == to {
			return err
		}
		if err := s.rt.execute(raiseLink(to, true)); err != nil {
			return err
		}
		if err := s.rt.execute(qdiscRequest(unix.RTM_NEWQDISC, excl, index, ingressQdisc)); err != nil && !exists(err) {
			return heddle.Wrap(heddle.NotOnKernel, "make an ingress qdisc on", x.Link, err, "load the kernel's module, if it has one ('modprobe sch_ingress')")
		}
		a.recordCreated(s, x.Key(), func() error { return s.deleteDivert(x) })
		if old != nil { // it leads to a device that is gone, or is another one by now, and drops what arrives or misleads it
			if err := s.deleteDivert(x); err != nil {
				return err
			}
		}
		return s.putDivert(index, to)
	})
}

func (divertKind) compare(d *differ, want *heddle.State) error {
	return each(want.Diverts, func(x heddle.Divert) error {
		index := d.index(x.Link)
		if index == 0 {
			return d.missing(x)
		}
		have, err := d.s.divertOn(index)
		switch {
		case err != nil:
			return err
		case have == nil:
			return d.missing(x)
		case have.to == 0 || have.to != d.index(x.To):
			return d.differs(x, "want to %s, have to %s", x.To, d.nameOf(have.to))
		}
		return nil
	})
}

func (divertKind) remove(r *removal, s *session, gone *heddle.State) {
	for _, x := range slices.Backward(gone.Diverts) {
		r.step(s, x.Key(), x.Link, func() error { return s.deleteDivert(x) })
	}
}

// own lists the filters on our links that have an ingress qdisc.
func (divertKind) own(v *inventory) error {
	qdiscs, err := v.s.bearers(ingressQdisc)
	if err != nil || len(qdiscs) == 0 {
		return err
	}
	names, err := v.names()
	if err != nil {
		return err
	}
	links, err := v.s.listedLinks()
	for _, l := range links {
		if !l.ours() || !qdiscs[l.index] {
			continue
		}
		have, e := v.s.divertOn(l.index)
		if err = errors.Join(err, e); have != nil {
			v.found.Diverts = append(v.found.Diverts, heddle.Divert{Link: l.name, To: names[have.to]})
		}
	}
	return err
}

func divertRequest(kind, flags, index int) *nl.NetlinkRequest {
	return request(kind, flags, &nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(index), Parent: netlink.HANDLE_MIN_INGRESS,
		Info: netlink.MakeHandle(heddle.DivertPriority, nl.Swap16(unix.ETH_P_ALL))})
}

// anyFrame compares nothing of four bytes of the Ethernet header, which stands before the packet. Bytes of the packet would not do: a frame
// that has none would pass. The offset is one that tc(8) accepts, a multiple of 4.
var anyFrame = nl.TcU32Key{Off: -12}

// putDivert makes the filter. A device that is gone, or down, has it drop what arrives (tcf_mirred_act).
func (s *session) putDivert(index, to int) error {
	r := divertRequest(unix.RTM_NEWTFILTER, excl, index)
	r.AddData(nl.NewRtAttr(nl.TCA_KIND, nl.ZeroTerminated(byU32)))
	options := nl.NewRtAttr(nl.TCA_OPTIONS, nil)
	options.AddRtAttr(nl.TCA_U32_SEL, (&nl.TcU32Sel{Flags: u32Terminal, Nkeys: 1, Keys: []nl.TcU32Key{anyFrame}}).Serialize())
	mirred := netlink.NewMirredAction(to)
	mirred.MirredAction, mirred.Action = netlink.TCA_EGRESS_REDIR, netlink.TC_ACT_STOLEN
	if err := netlink.EncodeActions(options.AddRtAttr(nl.TCA_U32_ACT, nil), []netlink.Action{mirred}); err != nil {
		return err
	}
	r.AddData(options)
	err := s.rt.execute(r)
	if absent(err) {
		return heddle.Wrap(heddle.NotOnKernel, "make a filter with", "u32 and mirred", err, "load the kernel's modules, if it has them ('modprobe -a cls_u32 act_mirred')")
	}
	return err
}

// deleteDivert deletes all filters of our priority, which is ours alone.
func (s *session) deleteDivert(x heddle.Divert) error {
	index, err := s.ifindex(x.Link)
	if err != nil {
		return err
	}
	err = s.rt.execute(divertRequest(unix.RTM_DELTFILTER, 0, index))
	if errors.Is(err, unix.EINVAL) {
		return nil // no qdisc
	}
	return err
}

// divertAt is a filter of ours; to is the index of its device, 0 if the filter is not as we make it.
type divertAt struct{ to int }

// divertOn reads the filter on a link's ingress, nil if there is none.
func (s *session) divertOn(index int) (*divertAt, error) {
	all, err := list(s.rt, func() *nl.NetlinkRequest { return divertRequest(unix.RTM_GETTFILTER, 0, index) }, decodeDivert)
	if absent(err) || errors.Is(err, unix.EINVAL) {
		return nil, nil // no qdisc
	}
	if len(all) == 0 {
		return nil, err
	}
	return &all[0], err
}

// decodeDivert reads a filter of our priority. The hash tables of u32 have no selector.
func decodeDivert(b []byte) (divertAt, bool) {
	if len(b) < nl.SizeofTcMsg || nl.DeserializeTcMsg(b).Info>>16 != heddle.DivertPriority {
		return divertAt{}, false
	}
	at := after(nl.SizeofTcMsg, b)
	options := attributes(at.get(nl.TCA_OPTIONS))
	raw := options.get(nl.TCA_U32_SEL)
	if text(at.get(nl.TCA_KIND)) != byU32 || len(raw) < nl.SizeofTcU32Sel+nl.SizeofTcU32Key {
		return divertAt{}, text(at.get(nl.TCA_KIND)) != byU32
	}
	to, into := mirredOf(options.get(nl.TCA_U32_ACT))
	if key := nl.DeserializeTcU32Sel(raw).Keys[0]; raw[2] != 1 || key != anyFrame || into != netlink.TCA_EGRESS_REDIR {
		to = 0
	}
	return divertAt{to}, true
}
