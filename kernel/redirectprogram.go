package kernel

import (
	"fmt"
	"net/netip"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/bpf"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// programWay is the name of a redirect's filter. It says what the program does, including the MAC
// address of the receiving device that it writes.
const programWay = "heddle redirect %s to %d at %s"

// putProgram makes a direct-action filter. Each prefix has a program of its own, with the compared
// values as constants.
func (s *session) putProgram(index, to int, p netip.Prefix) error {
	mac, err := s.macOf(to)
	if err != nil {
		return err
	}
	program, err := bpf.Steer(p, to, mac.Bytes())
	if err != nil {
		return heddle.Wrap(heddle.NotOnKernel, "load", "the eBPF program that redirects", err,
			"use --opt redirect=u32, or give the agent CAP_BPF on a kernel with BPF (CONFIG_BPF_SYSCALL, CONFIG_NET_CLS_BPF)")
	}
	defer program.Close()
	r := egress(unix.RTM_NEWTFILTER, excl, index, 0, netlink.MakeHandle(heddle.RedirectPriorityProgram, nl.Swap16(unix.ETH_P_ALL)))
	addProgram(r, program, fmt.Sprintf(programWay, p, to, mac))
	return s.rt.execute(r)
}

// macOf is the MAC address of the interface with that index.
func (s *session) macOf(index int) (heddle.MAC, error) {
	l, err := s.linkAt(index)
	if l == nil {
		return "", err
	}
	return l.mac, err
}

// decodeProgram reads a filter of ours by its name. A name without a MAC address, from an earlier
// version, gives a redirect to an unknown device, so that the filter is replaced.
func decodeProgram(options attributes) (r redirectAt, ok bool) {
	var prefix string
	switch n, _ := fmt.Sscanf(text(options.get(nl.TCA_BPF_NAME)), programWay, &prefix, &r.to, &r.mac); n {
	case 3:
	case 2:
		r.to = 0
	default:
		return r, false
	}
	p, err := netip.ParsePrefix(prefix)
	r.prefix, r.by = p, byProgram
	return r, err == nil
}
