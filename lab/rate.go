package lab

import (
	"fmt"
	"math"

	"github.com/vishvananda/netlink"
)

const (
	burstTime = 0.010 // seconds of traffic that may pass at once
	queueTime = 0.050 // seconds of traffic that may wait
)

// limitBoth paces both directions of a host's wire, each where it is sent.
func limitBoth(sw, host *stack, port string, rate uint64, mtu int) error {
	if err := limitPort(sw, port, rate, mtu); err != nil || rate == 0 {
		return err
	}
	if err := host.limit(uplink, rate, mtu); err != nil {
		return fmt.Errorf("rate of %s: %w", uplink, err)
	}
	return nil
}

// limitPort paces what the switch sends through a port; rate 0 is unlimited.
func limitPort(sw *stack, port string, rate uint64, mtu int) error {
	if rate == 0 {
		return nil
	}
	if err := sw.limit(port, rate, mtu); err != nil {
		return fmt.Errorf("rate of port %s: %w", port, err)
	}
	return nil
}

func (s *stack) limit(name string, rate uint64, mtu int) error {
	link, err := s.LinkByName(name)
	if err != nil {
		return err
	}
	bytes := rate / 8
	burst := bucket(bytes, mtu)
	return s.QdiscReplace(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       bytes,
		Buffer:     netlink.Xmittime(bytes, burst),
		Limit:      burst + clamp(float64(bytes)*queueTime),
	})
}

// bucket is the bytes that may pass at once: enough for two full frames and
// for the coarse clock. What is larger (TCP's big segments) is cut up by tbf.
func bucket(bytes uint64, mtu int) uint32 {
	return max(clamp(float64(bytes)*burstTime), uint32(2*(mtu+18)))
}

// clamp keeps a size inside what the kernel's 32-bit fields take.
func clamp(v float64) uint32 { return uint32(min(v, math.MaxInt32/2)) }
