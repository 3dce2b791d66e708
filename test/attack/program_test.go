package attack_test

import (
	"errors"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/poll"
)

// tcxDrop has a tcx program drop the packet (TCX_DROP of linux/bpf.h).
const tcxDrop = 2

// needTCX skips the test where the kernel has no tcx programs.
func needTCX(t *testing.T) {
	t.Helper()
	_, err := link.QueryPrograms(link.QueryOptions{Target: 1, Attach: ebpf.AttachTCXIngress}) // lo
	if errors.Is(err, unix.EINVAL) || errors.Is(err, ebpf.ErrNotSupported) {
		t.Skip("this kernel has no tcx, which came with 6.6")
	}
	cell.Must(t, err)
}

// leavesProgram has the container put programs on its NIC that drop all that comes in, one
// held by a BPF link and one by none. It succeeds if the host cannot use the NIC after the
// detach. The control brings the NIC home without a detach.
func leavesProgram(t *testing.T, mode string, open bool) bool {
	c := newCaptive(t, mode)
	linked, unlinked := dropper(t), dropper(t)
	err := c.Do(func() error {
		nic, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		held, err := link.AttachTCX(link.TCXOptions{Interface: nic.Attrs().Index, Program: linked, Attach: ebpf.AttachTCXIngress})
		if err != nil {
			return err
		}
		t.Cleanup(func() { held.Close() })
		return link.RawAttachProgram(link.RawAttachProgramOptions{Target: nic.Attrs().Index, Program: unlinked, Attach: ebpf.AttachTCXIngress})
	})
	cell.Must(t, err)
	if c.reached() {
		t.Fatal("the programs drop nothing")
	}
	if open {
		c.byName(mode)
		c.w.Host.Sh(t, "ip address add 10.60.0.2/24 dev nic1")
	} else {
		_, err := c.w.Detach(t.Context(), c.Endpoint.ID)
		cell.Must(t, err)
	}
	reached := func() bool { return c.w.Host.Ping(c.to, "-W1") == nil }
	_, err = poll.Until(5*time.Second, 100*time.Millisecond, poll.True(reached))
	return err != nil
}

// dropper is a program that drops all; each is another one for the kernel.
func dropper(t *testing.T) *ebpf.Program {
	t.Helper()
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Apache-2.0",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, tcxDrop), asm.Return()}})
	cell.Must(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}
