package link

import (
	"fmt"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/bpf"
	"github.com/heddle-network/heddle/ethtool"
	"github.com/heddle-network/heddle/frames"
)

const loopback = "lo"

// detour leads the frames of a port of the thread's namespace past a packet socket. Loopback is brought up for it, as in
// every container.
func (l *Links) detour(port string) (*frames.Socket, error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	at, err := h.LinkByName(port)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", port, err)
	}
	lo, err := h.LinkByName(loopback)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", loopback, err)
	}
	programs, err := l.programs()
	if err != nil {
		return nil, err
	}
	if err := forgetOrphans(); err != nil {
		return nil, err
	}
	if err := cutSegments(); err != nil {
		return nil, fmt.Errorf("turn segmentation offload of %s off: %w", loopback, err)
	}
	if err := h.LinkSetUp(lo); err != nil {
		return nil, fmt.Errorf("bring up %s: %w", loopback, err)
	}
	passing, err := frames.OpenMarked(loopback, bpf.Leaving, bpf.Back, at.Attrs().Index)
	if err != nil {
		return nil, err
	}
	for _, hook := range []struct {
		at      netlink.Link
		in, out int
	}{{lo, programs.End.FD(), programs.Return.FD()}, {at, programs.In.FD(), programs.Out.FD()}} {
		if err := attach(h, hook.at.Attrs().Index, hook.in, hook.out); err != nil {
			passing.Close()
			return nil, fmt.Errorf("attach programs to %s: %w", hook.at.Attrs().Name, err)
		}
	}
	return passing, nil
}

// cutSegments has the kernel cut TCP's large segments before they are on loopback: a link loses frames of up to the MTU.
func cutSegments() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, command := range []uint32{unix.ETHTOOL_STSO, unix.ETHTOOL_SGSO} {
		if _, err := ethtool.Request(fd, loopback, command, 0); err != nil {
			return os.NewSyscallError("SIOCETHTOOL", err)
		}
	}
	return nil
}

// programs are those of all users.
func (l *Links) programs() (d *bpf.Detour, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open, err = bpf.OpenDetour()
	}
	return l.open, err
}

// attach attaches programs to an interface's ingress and egress.
func attach(h *netlink.Handle, index, in, out int) error {
	clsact := &netlink.GenericQdisc{QdiscType: "clsact",
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}}
	if err := h.QdiscAdd(clsact); err != nil {
		return fmt.Errorf("make a clsact qdisc: %w", err)
	}
	for parent, program := range map[uint32]int{netlink.HANDLE_MIN_INGRESS: in, netlink.HANDLE_MIN_EGRESS: out} {
		err := h.FilterAdd(&netlink.BpfFilter{Fd: program, Name: "crowd", DirectAction: true,
			FilterAttrs: netlink.FilterAttrs{LinkIndex: index, Parent: parent, Handle: 1, Priority: 1, Protocol: unix.ETH_P_ALL}})
		if err != nil {
			return fmt.Errorf("make a filter (cls_bpf): %w", err)
		}
	}
	return nil
}
