package link

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/bpf"
	"github.com/heddle-network/heddle/tap"
)

const (
	// deviceName and deviceIndex are those of the device in each user's namespace, in which nothing else has them. With
	// one index for all, users share the programs.
	deviceName  = "crowd"
	deviceIndex = 1 << 20
	// deviceQueue is for how many frames this program may be late.
	deviceQueue = 2048
)

// detour makes a device in the thread's namespace, and leads what passes the port through it.
func (l *Links) detour(port string) (device *os.File, mtu int, err error) {
	if device, err = tap.Open(deviceName, deviceIndex); err != nil {
		return nil, 0, fmt.Errorf("make a TAP device: %w", err)
	}
	defer func() {
		if err != nil {
			device.Close()
		}
	}()
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, 0, err
	}
	defer h.Close()
	at, err := h.LinkByName(port)
	if err != nil {
		return nil, 0, fmt.Errorf("find %s: %w", port, err)
	}
	if err := raise(h); err != nil {
		return nil, 0, fmt.Errorf("bring up the TAP device: %w", err)
	}
	programs, err := l.programs(at.Attrs().Index)
	if err != nil {
		return nil, 0, err
	}
	for _, hook := range []struct {
		link   int
		parent uint32
		fd     int
	}{
		{deviceIndex, netlink.HANDLE_MIN_INGRESS, programs.Back.FD()},
		{at.Attrs().Index, netlink.HANDLE_MIN_INGRESS, programs.In.FD()},
		{at.Attrs().Index, netlink.HANDLE_MIN_EGRESS, programs.Out.FD()},
	} {
		if err := attach(h, hook.link, hook.parent, hook.fd); err != nil {
			return nil, 0, err
		}
	}
	return device, at.Attrs().MTU, nil
}

// raise brings the device up, for frames of the port alone: the namespace's own stack does not use it, and no queue but
// the device's holds them.
func raise(h *netlink.Handle) error {
	own := filepath.Join("/proc/sys/net/ipv6/conf", deviceName, "disable_ipv6")
	if err := os.WriteFile(own, []byte("1"), 0o644); err != nil && !os.IsNotExist(err) { // a kernel without IPv6 has none
		return err
	}
	at := &netlink.Tuntap{LinkAttrs: netlink.LinkAttrs{Index: deviceIndex, Name: deviceName}}
	if err := h.LinkSetTxQLen(at, deviceQueue); err != nil {
		return err
	}
	if err := h.LinkSetARPOff(at); err != nil {
		return err
	}
	none := &netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: deviceIndex, Parent: netlink.HANDLE_ROOT}, QdiscType: "noqueue"}
	if err := h.QdiscReplace(none); err != nil {
		return err
	}
	return h.LinkSetUp(at)
}

// programs are those of a port with that index.
func (l *Links) programs(port int) (*bpf.Detour, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.detours[port]; d != nil {
		return d, nil
	}
	d, err := bpf.NewDetour(port, deviceIndex)
	if err != nil {
		return nil, err
	}
	if l.detours == nil {
		l.detours = map[int]*bpf.Detour{}
	}
	l.detours[port] = d
	return d, nil
}

// attach attaches a program to an interface.
func attach(h *netlink.Handle, index int, parent uint32, program int) error {
	clsact := &netlink.GenericQdisc{QdiscType: "clsact",
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: index, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_CLSACT}}
	if err := h.QdiscAdd(clsact); err != nil && err != unix.EEXIST {
		return fmt.Errorf("make a clsact qdisc: %w", err)
	}
	err := h.FilterAdd(&netlink.BpfFilter{Fd: program, Name: deviceName, DirectAction: true,
		FilterAttrs: netlink.FilterAttrs{LinkIndex: index, Parent: parent, Handle: 1, Priority: 1, Protocol: unix.ETH_P_ALL}})
	if err != nil {
		return fmt.Errorf("attach a program (cls_bpf): %w", err)
	}
	return nil
}
