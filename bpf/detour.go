package bpf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/rlimit"
)

// Detour is three programs that lead the frames of an interface, the port, through a device whose frames a program reads
// and writes: Out is for the port's egress, In for its ingress, Back for the device's ingress. On the device, a frame
// that the port sends has the group bit of its source address set, which no frame has (IEEE 802). What comes back with
// the bit leaves the port, without it; all else is received at the port.
type Detour struct{ Out, In, Back *ebpf.Program }

const (
	// GroupByte is where a frame has the group bit of its source address, the lowest of the byte.
	GroupByte, GroupBit = 6, 1
	// passed is the mark of frames that come from the device. It is taken off at once.
	passed = 0x68646c65
	// The place of the mark in struct __sk_buff, and a flag of bpf_redirect (linux/bpf.h).
	atMark, toIngress = 8, 1
	// Results of programs (linux/pkt_cls.h).
	actOK, actShot = 0, 2
)

// NewDetour loads the programs of a port and a device with these indices. The caller closes them; attached, they stay.
func NewDetour(port, device int) (*Detour, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("raise the limit on locked memory: %w", err)
	}
	var errs [3]error
	load := func(n int, name string, code ...asm.Instructions) *ebpf.Program {
		var p *ebpf.Program
		p, errs[n] = ebpf.NewProgram(&ebpf.ProgramSpec{Name: name, Type: ebpf.SchedCLS, License: "GPL", Instructions: slices.Concat(code...)})
		return p
	}
	d := &Detour{
		Out:  load(0, "detour_out", unlessPassed(), readGroupByte(), writeGroupByte(), redirect(device, 0), drop()),
		In:   load(1, "detour_in", unlessPassed(), redirect(device, 0)),
		Back: load(2, "detour_back", markPassed(), readGroupByte(), unlessSent(port), writeGroupByte(), redirect(port, 0), drop()),
	}
	if err := errors.Join(errs[:]...); err != nil {
		d.Close()
		return nil, fmt.Errorf("load the programs of a detour: %w", err)
	}
	return d, nil
}

// Close lets go of the programs.
func (d *Detour) Close() {
	for _, p := range []*ebpf.Program{d.Out, d.In, d.Back} {
		p.Close()
	}
}

// unlessPassed lets frames that come from the device go on. R6 is the frame from here on.
func unlessPassed() asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R2, asm.R6, atMark, asm.Word),
		asm.Mov.Imm(asm.R3, passed),
		asm.JNE.Reg(asm.R2, asm.R3, "new"),
		asm.Mov.Imm(asm.R2, 0),
		asm.StoreMem(asm.R6, atMark, asm.R2, asm.Word),
		asm.Mov.Imm(asm.R0, actOK),
		asm.Return(),
		asm.Mov.Imm(asm.R2, 0).WithSymbol("new"),
	}
}

func markPassed() asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.Mov.Imm(asm.R2, passed),
		asm.StoreMem(asm.R6, atMark, asm.R2, asm.Word),
	}
}

// readGroupByte has the byte in R7.
func readGroupByte() asm.Instructions {
	return append(groupByteArguments(),
		asm.FnSkbLoadBytes.Call(),
		asm.JNE.Imm(asm.R0, 0, "drop"),
		asm.LoadMem(asm.R7, asm.RFP, -1, asm.Byte))
}

// unlessSent has frames received at the port that were not sent by it.
func unlessSent(port int) asm.Instructions {
	return slices.Concat(asm.Instructions{
		asm.Mov.Reg(asm.R2, asm.R7),
		asm.And.Imm(asm.R2, GroupBit),
		asm.JNE.Imm(asm.R2, 0, "sent"),
	}, redirect(port, toIngress), asm.Instructions{asm.Mov.Imm(asm.R2, 0).WithSymbol("sent")})
}

// writeGroupByte writes the byte of R7 with the other group bit.
func writeGroupByte() asm.Instructions {
	return slices.Concat(asm.Instructions{
		asm.Xor.Imm(asm.R7, GroupBit),
		asm.StoreMem(asm.RFP, -1, asm.R7, asm.Byte),
	}, groupByteArguments(), asm.Instructions{
		asm.Mov.Imm(asm.R5, 0),
		asm.FnSkbStoreBytes.Call(),
		asm.JNE.Imm(asm.R0, 0, "drop"),
	})
}

// groupByteArguments are those of bpf_skb_load_bytes and bpf_skb_store_bytes.
func groupByteArguments() asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.Mov.Imm(asm.R2, GroupByte),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, -1),
		asm.Mov.Imm(asm.R4, 1),
	}
}

func redirect(to int, flags int32) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Imm(asm.R1, int32(to)),
		asm.Mov.Imm(asm.R2, flags),
		asm.FnRedirect.Call(),
		asm.Return(),
	}
}

func drop() asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, actShot).WithSymbol("drop"), asm.Return()}
}
