package lab

import (
	"math"

	"github.com/vishvananda/netlink"
)

const (
	burstTime = 0.010 // seconds of traffic that may pass at once
	queueTime = 0.050 // seconds of traffic that may wait
)

// setLimit limits the rate at which a device sends. 0 removes the limit.
func (s *namespace) setLimit(name string, rate uint64, mtu int) error {
	link, err := s.LinkByName(name)
	if err != nil {
		return err
	}
	root := netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}
	if rate == 0 {
		return s.removeLimit(link)
	}
	bytes := rate / 8
	burst := burstSize(bytes, mtu)
	return s.QdiscReplace(&netlink.Tbf{
		QdiscAttrs: root,
		Rate:       bytes,
		Buffer:     netlink.Xmittime(bytes, burst),
		Limit:      burst + clamp(float64(bytes)*queueTime),
	})
}

// removeLimit removes the limit, if there is one.
func (s *namespace) removeLimit(link netlink.Link) error {
	all, err := s.QdiscList(link)
	if err != nil {
		return err
	}
	for _, q := range all {
		if q.Type() == "tbf" && q.Attrs().Parent == netlink.HANDLE_ROOT {
			return s.QdiscDel(q)
		}
	}
	return nil
}

// burstSize returns how many bytes may pass at once: enough for two full frames and for the
// coarse clock. tbf segments frames that are larger (TCP's big segments).
func burstSize(bytes uint64, mtu int) uint32 {
	return max(clamp(float64(bytes)*burstTime), uint32(2*(mtu+18)))
}

// clamp limits a size to what the kernel's 32-bit fields take.
func clamp(v float64) uint32 { return uint32(min(v, math.MaxInt32/2)) }
