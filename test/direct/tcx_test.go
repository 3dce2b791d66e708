package direct_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// TestTCX: the tcx programs that a container leaves on its NIC go, by a BPF link or
// without. Those that the user had there stay, also one that he has put in place of another
// by his link; one that the container has taken off is told.
func TestTCX(t *testing.T) {
	w := world.New(t)
	newNIC(t, "nic1", 1)
	network(t, w, "lan", nil, "nic1")
	users, err := link.AttachTCX(link.TCXOptions{Interface: indexOf(t, "nic1"), Program: passing(t), Attach: ebpf.AttachTCXIngress})
	if errors.Is(err, ebpf.ErrNotSupported) {
		t.Skip("this kernel has no tcx, which came with 6.6")
	}
	cell.Must(t, err)
	defer users.Close()
	ns := world.NewNetns(t, "c1")
	pod := w.PodIn(t, ns, "lan")
	newer := passing(t)
	cell.Must(t, users.Update(newer))
	cell.Must(t, ns.Do(func() error { return leaveTCX(t, "eth0") }))
	pod.Leave(t)
	wantTCX(t, "nic1", ebpf.AttachTCXIngress, newer)
	wantTCX(t, "nic1", ebpf.AttachTCXEgress)

	bare := passing(t)
	cell.Must(t, attachBare(t, "nic1", bare))
	pod = w.PodIn(t, ns, "lan")
	cell.Must(t, ns.Do(func() error {
		return link.RawDetachProgram(link.RawDetachProgramOptions{Target: indexOf(t, "eth0"), Program: bare, Attach: ebpf.AttachTCXEgress})
	}))
	pod.Leave(t)
	if want := fmt.Sprintf(`lost="tcx program at egress (id %d)"`, idOf(t, bare)); !strings.Contains(w.Logged(), want) {
		t.Errorf("the agent's log lacks %s", want)
	}
}

// passing is a program that leaves all to the next one; each is another one for the kernel.
func passing(t *testing.T) *ebpf.Program {
	t.Helper()
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Apache-2.0",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, -1), asm.Return()}}) // TCX_NEXT of linux/bpf.h
	cell.Must(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

// leaveTCX attaches a program to each hook of an interface, one held by a BPF link.
func leaveTCX(t *testing.T, name string) error {
	held, err := link.AttachTCX(link.TCXOptions{Interface: indexOf(t, name), Program: passing(t), Attach: ebpf.AttachTCXIngress})
	if err != nil {
		return err
	}
	t.Cleanup(func() { held.Close() })
	return attachBare(t, name, passing(t))
}

// attachBare attaches a program to the egress of an interface without a BPF link.
func attachBare(t *testing.T, name string, p *ebpf.Program) error {
	return link.RawAttachProgram(link.RawAttachProgramOptions{Target: indexOf(t, name), Program: p, Attach: ebpf.AttachTCXEgress})
}

// wantTCX fails the test unless these programs are at the hook of the interface.
func wantTCX(t *testing.T, name string, hook ebpf.AttachType, want ...*ebpf.Program) {
	t.Helper()
	there, err := link.QueryPrograms(link.QueryOptions{Target: indexOf(t, name), Attach: hook})
	cell.Must(t, err)
	var have, wanted []ebpf.ProgramID
	for _, p := range there.Programs {
		have = append(have, p.ID)
	}
	for _, p := range want {
		wanted = append(wanted, idOf(t, p))
	}
	if !slices.Equal(have, wanted) {
		t.Errorf("%s of %s: programs %v, want %v", hook, name, have, wanted)
	}
}

func idOf(t *testing.T, p *ebpf.Program) ebpf.ProgramID {
	t.Helper()
	info, err := p.Info()
	cell.Must(t, err)
	id, _ := info.ID()
	return id
}

func indexOf(t *testing.T, name string) int {
	t.Helper()
	l, err := netlink.LinkByName(name)
	cell.Must(t, err)
	return l.Attrs().Index
}

// TestXDPTakenOff: an endpoint goes although its container has taken off the NIC's XDP
// program, and that is told.
func TestXDPTakenOff(t *testing.T) {
	w := world.New(t)
	newNIC(t, "nic1", 1)
	network(t, w, "lan", nil, "nic1")
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "Apache-2.0",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 2), asm.Return()}}) // XDP_PASS of linux/bpf.h
	cell.Must(t, err)
	defer program.Close()
	const generic = 1 << 1 // XDP_FLAGS_SKB_MODE of linux/if_link.h
	cell.Must(t, netlink.LinkSetXdpFdWithFlags(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Index: indexOf(t, "nic1")}}, program.FD(), generic))
	pod := w.Pod(t, "c1", "lan")
	pod.Sh(t, "ip link set eth0 xdpgeneric off")
	pod.Leave(t)
	if want := fmt.Sprintf(`lost="XDP program (id %d)"`, idOf(t, program)); !strings.Contains(w.Logged(), want) {
		t.Errorf("the agent's log lacks %s", want)
	}
}
