package lab

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/heddle-network/heddle"
)

// instructionShift is the binary logarithm of InstructionTime in ns, as QEMU wants it. An emulated processor executes about as many
// instructions in a second of real time as then fill a second of the machine's.
const instructionShift = 4

// InstructionTime is what an instruction takes of the clock of a machine whose Node has ICount.
const InstructionTime = 1 << instructionShift * time.Nanosecond

// icountArguments have QEMU make the clock from the number of executed instructions (qemu(1), -icount). With sleep=on, an idle
// machine waits in real time: others have to answer it.
func (n *Node) icountArguments() []string {
	if !n.ICount {
		return nil
	}
	return []string{"-icount", fmt.Sprintf("shift=%d,sleep=on", instructionShift)}
}

// checkICount refuses a clock of instructions where they are not counted, or would be counted twice: the processors of an emulated
// machine take turns, and one clock goes on for all of them.
func (n *Node) checkICount() error {
	bad := func(cause, remedy string) error { return refuse("count instructions of", n.Name, cause, remedy) }
	switch {
	case !n.ICount:
		return nil
	case n.Machine == "":
		return bad("only a virtual machine's can be counted, and this host is made of namespaces", "leave icount out, or give the host a machine")
	case n.CPUs > 1:
		return bad(fmt.Sprintf("its %d processors would take turns on one clock", n.CPUs), "leave cpus out")
	case accelerator() != emulated:
		return bad("this machine's own processor runs it, and QEMU counts what it emulates", "leave icount out, and count with perf stat in the machine")
	}
	return nil
}

// Processor returns what the kernel of a virtual machine accounts: the text of its /proc/stat, and then a line "uptime" with the two
// numbers of its /proc/uptime (proc(5)): the seconds since it booted, and those of them in which a processor was idle. Its init reads
// the files, since the start of a program would count.
func (h *Host) Processor(ctx context.Context) (string, error) {
	if h.Machine == "" {
		return "", refuse("read processor of", h.Name, "the host is no virtual machine", "read this machine's /proc/stat")
	}
	answer, err := h.ask(ctx, request{Verb: verbProcessor})
	if err != nil {
		return "", heddle.Wrap(heddle.LabFailed, "read processor of", h.Name, err, "")
	}
	return answer.Text, nil
}

// processorAccount is Processor within the machine.
func processorAccount() (string, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return "", err
	}
	uptime, err := os.ReadFile("/proc/uptime")
	return string(stat) + "uptime " + string(uptime), err
}
