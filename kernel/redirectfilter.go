package kernel

import (
	"errors"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// The kinds of filter that a redirect can use.
const (
	byU32     = "u32"
	byProgram = "ebpf"
)

// redirectAt is a redirect as the kernel has it: a filter on an interface's egress.
type redirectAt struct {
	prefix netip.Prefix
	// to is the index of the device that receives the packets, 0 if the device is gone.
	to  int
	mac heddle.MAC // the MAC address that a program writes, "" if there is no program
	by  string
	// handle, priority and protocol are those of the filter.
	handle, info uint32
}

func egress(kind, flags, index int, handle, info uint32) *nl.NetlinkRequest {
	return request(kind, flags, &nl.TcMsg{Family: unix.AF_UNSPEC, Ifindex: int32(index), Handle: handle, Parent: netlink.HANDLE_MIN_EGRESS, Info: info})
}

// ends returns the indexes of both interfaces.
func (s *session) ends(x heddle.Redirect) (index, to int, err error) {
	if index, err = s.ifindex(x.Link); err == nil {
		to, err = s.ifindex(x.To)
	}
	return index, to, err
}

// putRedirect makes the filter. It uses a program if the kernel accepts it, unless another way is
// requested.
func (k *Kernel) putRedirect(s *session, index, to int, x heddle.Redirect) error {
	if err := s.rt.execute(qdiscRequest(unix.RTM_NEWQDISC, excl, index, clsactQdisc)); err != nil && !exists(err) {
		return heddle.Wrap(heddle.NotOnKernel, "make a clsact qdisc on", x.Link, err, "load the kernel's module, if it has one ('modprobe sch_ingress')")
	}
	if x.By != byU32 {
		err := s.putProgram(index, to, x.Prefix)
		if err == nil || x.By == byProgram {
			return err
		}
	}
	return s.putU32(index, to, x.Prefix)
}

// deleteRedirect deletes all filters for the prefix, and the qdisc if nobody else has a filter
// there.
func (s *session) deleteRedirect(x heddle.Redirect) error {
	index, err := s.ifindex(x.Link)
	if err != nil {
		return err
	}
	live, err := s.redirectsOn(index)
	for _, r := range live {
		if r.prefix == x.Prefix {
			err = errors.Join(err, s.dropRedirect(index, r))
		}
	}
	if err != nil {
		return err
	}
	return s.dropBareQdisc(index)
}

func (s *session) dropRedirect(index int, r redirectAt) error {
	err := s.rt.execute(egress(unix.RTM_DELTFILTER, 0, index, r.handle, r.info))
	if absent(err) {
		return nil
	}
	if err != nil || r.by != byU32 {
		return err
	}
	return s.dropBareTable(index, r.info)
}

// redirectsOn lists the redirects on an interface.
func (s *session) redirectsOn(index int) ([]redirectAt, error) {
	all, err := list(s.rt, func() *nl.NetlinkRequest {
		return egress(unix.RTM_GETTFILTER, 0, index, 0, 0)
	}, decodeRedirect)
	if absent(err) || errors.Is(err, unix.EINVAL) {
		return nil, nil // no qdisc
	}
	for i, r := range all {
		if r.mac == "" || err != nil {
			continue
		}
		mac, e := s.macOf(r.to)
		if err = e; mac != r.mac {
			all[i].to = 0 // the device has another MAC address by now, or is another one
		}
	}
	return all, err
}

func decodeRedirect(b []byte) (redirectAt, bool) {
	if len(b) < nl.SizeofTcMsg {
		return redirectAt{}, false
	}
	head := nl.DeserializeTcMsg(b)
	at := after(nl.SizeofTcMsg, b)
	options := attributes(at.get(nl.TCA_OPTIONS))
	r, ok := redirectAt{}, false
	switch priority := head.Info >> 16; {
	case text(at.get(nl.TCA_KIND)) == "u32" && (priority == heddle.RedirectPriority4 || priority == heddle.RedirectPriority6):
		r, ok = decodeU32(options, priority == heddle.RedirectPriority6)
	case text(at.get(nl.TCA_KIND)) == "bpf" && priority == heddle.RedirectPriorityProgram:
		r, ok = decodeProgram(options)
	}
	r.handle, r.info = head.Handle, head.Info
	return r, ok
}

// bearers finds the interfaces that have a qdisc of the kind.
func (s *session) bearers(kind string) (map[int]bool, error) {
	found := map[int]bool{}
	_, err := list(s.rt, func() *nl.NetlinkRequest {
		return request(unix.RTM_GETQDISC, 0, &nl.TcMsg{Family: unix.AF_UNSPEC})
	}, func(b []byte) (int, bool) {
		if text(after(nl.SizeofTcMsg, b).get(nl.TCA_KIND)) != kind {
			return 0, false
		}
		index := int(nl.DeserializeTcMsg(b).Ifindex)
		found[index] = true
		return index, true
	})
	return found, err
}
