package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lab/boot"
)

// bootTime limits how long machines may take to answer. An emulated one takes four seconds on
// an idle processor, and many times that on a busy one.
const bootTime = 5 * time.Minute

const (
	initramfsName  = "initramfs"
	consoleName    = "console.log"
	guestStateName = "guest.json" // the states of the guest's programs
)

// machineSpec is what the init and the guest of a virtual machine need to know.
type machineSpec struct {
	Emulator []program   `json:"emulator"`
	NICs     []guestNIC  `json:"nics"`
	Routes   []routeSpec `json:"routes"`
	Control  string      `json:"control"` // the MAC of the control channel's NIC
	Modules  string      `json:"modules"` // the folder of the kernel's modules, outside of the guest
	Env      []string    `json:"env"`     // of all programs in the guest
}

// guestNIC is a NIC of the guest: eth0, eth1, and so on. A spare one has no address, and
// stays down.
type guestNIC struct {
	MAC       string         `json:"mac"`
	MTU       int            `json:"mtu"`
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	Router    bool           `json:"router,omitempty"`
}

// machine returns what a virtual machine needs to know.
func (t Topology) machine(n *Node, number int) *machineSpec {
	kernel, _ := findKernel(n.Machine)
	m := &machineSpec{Routes: t.routes(n), Control: controlMAC(number).String(), Modules: filepath.Join(kernel.Dir, "lib/modules"), Env: insideEnvironment()}
	for i := range len(n.NICs) + n.Spare {
		nic := n.nic(i)
		g := guestNIC{MAC: macOf(number, 2*i).String(), MTU: nic.MTU, Router: n.Router}
		if i < len(n.NICs) {
			g.Addresses = nic.Addresses
		}
		m.NICs = append(m.NICs, g)
	}
	m.Emulator = emulator(kernel, m, n, slotArguments(n))
	return m
}

// controlMAC returns the MAC of the control channel's NIC. No other NIC has its side.
func controlMAC(number int) net.HardwareAddr { return macOf(number, 255) }

func findKernel(version string) (boot.Kernel, bool) {
	all := boot.Kernels()
	i := slices.IndexFunc(all, func(k boot.Kernel) bool { return k.Version == version })
	if i < 0 {
		return boot.Kernel{}, false
	}
	return all[i], true
}

// checkMachines refuses virtual machines that cannot run here.
func (t Topology) checkMachines() error {
	for _, n := range t.Hosts {
		if n.Machine == "" {
			continue
		}
		if !slices.Contains(boot.Versions(), n.Machine) {
			return refuse("choose kernel of "+n.Name, n.Machine,
				"labs have no such kernel", "choose "+strings.Join(boot.Versions(), " or "))
		}
		if reason := MissingForMachines(n.Machine); reason != "" {
			cause, remedy := splitReason(reason)
			return heddle.Errorf(heddle.NoTool, "run virtual machine", n.Name, cause, remedy)
		}
	}
	return nil
}

// splitReason splits a text of MissingForMachines: what to do about it comes last.
func splitReason(text string) (cause, remedy string) {
	i := strings.LastIndex(text, ": ")
	if i < 0 {
		return text, ""
	}
	return text[:i], text[i+2:]
}

// MissingForMachines says why virtual machines with that kernel cannot run here, and what to
// do about it. It is empty if they can.
func MissingForMachines(version string) string {
	if reason := boot.MissingHere(); reason != "" {
		return reason
	}
	if _, found := findKernel(version); !found {
		return boot.MissingKernel(version)
	}
	if virtiofsd() == "" {
		return "no virtiofsd: install the package qemu-system-common (Debian 12) or virtiofsd (later ones)"
	}
	for _, tool := range []string{"depmod", "modprobe"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "no " + tool + ": install the package kmod"
		}
	}
	return ""
}

// prepareMachines makes one initramfs for each kernel, which the machines boot.
func (l *Lab) prepareMachines() error {
	made := map[string]string{}
	for _, n := range l.Topology.Hosts {
		if n.Machine == "" {
			continue
		}
		file := filepath.Join(l.folder, n.Name, initramfsName)
		if same := made[n.Machine]; same != "" {
			if err := os.Link(same, file); err != nil {
				return heddle.Wrap(heddle.LabFailed, "make initramfs of", n.Name, err, "")
			}
			continue
		}
		kernel, _ := findKernel(n.Machine)
		err := kernel.IndexModules()
		if err == nil {
			err = kernel.WriteInitramfs(file, guestModules)
		}
		if err != nil {
			return heddle.Wrap(heddle.LabFailed, "make initramfs of", n.Name, err, "")
		}
		made[n.Machine] = file
	}
	return nil
}

// awaitMachines waits until all machines answer.
func (l *Lab) awaitMachines(ctx context.Context) error {
	all := slices.DeleteFunc(slices.Concat(l.Routers, l.Hosts), func(h *Host) bool { return h.Machine == "" })
	if len(all) == 0 {
		return nil
	}
	l.Topology.Progress(fmt.Sprintf("booting %d machines (%s)", len(all), all[0].Accelerator))
	ctx, cancel := context.WithTimeout(ctx, bootTime)
	defer cancel()
	return eachHost(all, func(h *Host) error { return h.awaitMachine(ctx) })
}

// awaitMachine sends requests until one is answered. The first time limits are short, since a
// request before the guest is up is lost. Later ones are longer, for a slow guest.
func (h *Host) awaitMachine(ctx context.Context) error {
	for wait := 200 * time.Millisecond; ; wait += wait / 8 {
		try, cancel := context.WithTimeout(ctx, wait)
		err := h.send(try, request{Verb: verbReady})
		cancel()
		switch {
		case err == nil:
			return nil
		case !h.Alive():
			return h.programError(qemuProgram, errors.New("the host's init ended"))
		case !h.runs():
			return h.programError(qemuProgram, errors.New("the emulator "+h.programState(qemuProgram).Ending+h.console()))
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return h.programError(qemuProgram, fmt.Errorf("the machine does not answer: %w%s", err, h.console()))
		}
	}
}

// runs reports whether the host's init runs, and its emulator, if it has one.
func (h *Host) runs() bool {
	if !h.Alive() {
		return false
	}
	at := h.programState(qemuProgram)
	return h.Machine == "" || at.Pid != 0 || at.Ending == ""
}

// console returns the last lines of the machine's console.
func (h *Host) console() string {
	if text := lastLines(filepath.Join(h.folder, consoleName)); text != "" {
		return "; its console ends:\n" + strings.ReplaceAll(text, "\r", "")
	}
	return ""
}

// Emulated reports whether the host is a virtual machine with an emulated processor. Its
// speed says nothing.
func (h *Host) Emulated() bool { return h.Accelerator == emulated }

// timeLimit stretches a time limit for a host whose processor is emulated.
func (h *Host) timeLimit(d time.Duration) time.Duration {
	if h.Emulated() {
		return 10 * d
	}
	return d
}
