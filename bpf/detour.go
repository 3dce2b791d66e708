package bpf

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/rlimit"
)

// Detour is programs that lead the frames of an interface, the port, past a packet socket on loopback. Out is for the
// port's egress, In for its ingress: they send frames out on loopback, with mark Leaving. There End, for its ingress,
// ends them. What the socket sends, with mark Back, Return, for loopback's egress, takes to the port.
//
// On the way, a frame that the port sends has the group bit of its source address set, which no frame has (IEEE 802).
// What comes back with the bit leaves the port, without it; all else is received at the port. A frame that arrives with
// the bit is forged, and lost: otherwise it would go back to the network.
type Detour struct{ Out, In, Return, End *ebpf.Program }

// The marks, and the place of the group bit: the lowest of that byte of a frame.
const (
	Leaving, Back       = 0x68646c31, 0x68646c32
	GroupByte, GroupBit = 6, 1
)

const (
	// loopback has that index in each namespace.
	loopback = 1
	// The place of the mark in struct __sk_buff, and a flag of bpf_redirect (linux/bpf.h).
	atMark, toIngress = 8, 1
	// Results of programs (linux/pkt_cls.h).
	actOK, actShot = 0, 2
)

// NewDetour loads the programs of a port with that index. The caller closes them; attached, they stay.
func NewDetour(port int) (*Detour, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("raise the limit on locked memory: %w", err)
	}
	var errs [4]error
	load := func(n int, name string, code ...asm.Instructions) *ebpf.Program {
		spec := &ebpf.ProgramSpec{Name: name, Type: ebpf.SchedCLS, License: "GPL", Instructions: slices.Concat(code...)}
		p, err := ebpf.NewProgram(spec)
		if err != nil {
			errs[n] = fmt.Errorf("load the program %s: %w", name, err)
		}
		return p
	}
	pass, drop := result("pass", actOK), result("drop", actShot)
	d := &Detour{
		Out: load(0, "detour_out", unless(Back, "new"), setMark(0), pass, begin("new"), setMark(Leaving), readGroupByte(),
			writeGroupByte(), redirect(loopback, 0), drop),
		In: load(1, "detour_in", unless(Back, "new"), setMark(0), pass, begin("new"), setMark(Leaving), readGroupByte(),
			asm.Instructions{asm.JSet.Imm(asm.R7, GroupBit, "drop")}, redirect(loopback, 0), drop),
		Return: load(2, "detour_return", unless(Back, "pass"), readGroupByte(), unlessSent(port), writeGroupByte(), redirect(port, 0), drop, pass),
		End:    load(3, "detour_end", unless(Leaving, "pass"), drop, pass),
	}
	if err := cmp.Or(errs[:]...); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Close lets go of the programs.
func (d *Detour) Close() {
	for _, p := range []*ebpf.Program{d.Out, d.In, d.Return, d.End} {
		p.Close()
	}
}

// unless keeps the frame in R6, and goes on elsewhere with a frame that does not have the mark.
func unless(mark int32, elsewhere string) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.LoadMem(asm.R2, asm.R6, atMark, asm.Word),
		asm.JNE.Imm(asm.R2, mark, elsewhere),
	}
}

// begin is where a jump leads.
func begin(name string) asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0).WithSymbol(name)}
}

func result(name string, action int32) asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, action).WithSymbol(name), asm.Return()}
}

func setMark(mark int32) asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R2, mark), asm.StoreMem(asm.R6, atMark, asm.R2, asm.Word)}
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
	}, redirect(port, toIngress), begin("sent"))
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
