package bpf

import (
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/rlimit"
)

// Detour is programs that lead the frames of an interface, the port, past a packet socket on loopback. Out belongs on the
// port's egress, In on its ingress: they send each frame out on loopback with mark Leaving, where the socket reads it. End
// belongs on loopback's ingress, and drops what the socket has read. The socket sends with mark Back and the port's index
// as its priority: Return, on loopback's egress, takes that to the port. One Detour is for any number of ports.
//
// The group bit of the source address, which no sender sets (IEEE 802), says which way a frame was going: Out sets it. What
// comes back with the bit leaves the port, without it; all else is received at the port. A frame that arrives with the bit
// is forged, and dropped: otherwise it would go back to the network.
//
// The detour is there as long as a process has it open. Afterwards, also if the process was killed, frames take the
// straight way, and what was lost in the detour can be sent again: the kernel clears a program array when its last
// descriptor is closed, and a tail call into an empty slot goes on behind it (bpf-helpers(7), bpf_tail_call).
type Detour struct {
	Out, In, Return, End *ebpf.Program
	ways                 *ebpf.Map // where Out and In lead
}

// The marks, and the place of the group bit: the lowest of that byte of a frame.
const (
	Leaving, Back       = 0x68646c31, 0x68646c32
	GroupByte, GroupBit = 6, 1
)

const (
	// loopback has that index in each namespace.
	loopback = 1
	// The places of mark and priority in struct __sk_buff, and a flag of bpf_redirect (linux/bpf.h).
	atMark, atPriority, toIngress = 8, 32, 1
	// Results of programs (linux/pkt_cls.h).
	actOK, actShot = 0, 2
	// The slots of a detour's ways.
	wayOut, wayIn = 0, 1
)

// OpenDetour loads the programs. The caller closes the detour; attached programs stay. An error is the kernel's, with the
// name of the program.
func OpenDetour() (*Detour, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("raise the limit on locked memory: %w", err)
	}
	ways, err := ebpf.NewMap(&ebpf.MapSpec{Name: "detour_ways", Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: 2})
	if err != nil {
		return nil, fmt.Errorf("make a program array: %w", err)
	}
	var errs []error
	load := func(name string, code ...asm.Instructions) *ebpf.Program {
		spec := &ebpf.ProgramSpec{Name: name, Type: ebpf.SchedCLS, License: "GPL", Instructions: slices.Concat(code...)}
		p, err := ebpf.NewProgram(spec)
		if err != nil {
			errs = append(errs, fmt.Errorf("load the program %s: %w", name, err))
		}
		return p
	}
	pass, drop := result("pass", actOK), result("drop", actShot)
	toLoopback := redirect(asm.Mov.Imm(asm.R1, loopback), 0)
	d := &Detour{
		Out: load("detour_out", unless(Back, "new"), store(atMark, 0), pass, begin("new"), follow(ways, wayOut), result("straight", actOK)),
		In:  load("detour_in", unless(Back, "new"), store(atMark, 0), pass, begin("new"), follow(ways, wayIn), result("straight", actOK)),
		Return: load("detour_return", unless(Back, "pass"), takePort(), readGroupByte(), ifReceived(toPort(toIngress)), writeGroupByte(),
			toPort(0), drop, pass),
		End:  load("detour_end", unless(Leaving, "pass"), drop, pass),
		ways: ways,
	}
	for way, p := range []*ebpf.Program{
		wayOut: load("detour_way_out", keep(), store(atMark, Leaving), readGroupByte(), writeGroupByte(), toLoopback, drop),
		wayIn: load("detour_way_in", keep(), store(atMark, Leaving), readGroupByte(),
			asm.Instructions{asm.JSet.Imm(asm.R7, GroupBit, "drop")}, toLoopback, drop),
	} {
		if p == nil {
			continue
		}
		if err := ways.Put(uint32(way), p); err != nil {
			errs = append(errs, fmt.Errorf("put a program into its array: %w", err))
		}
		p.Close()
	}
	if len(errs) > 0 {
		d.Close()
		return nil, errs[0]
	}
	return d, nil
}

// Close lets go of the programs, and opens the straight way.
func (d *Detour) Close() {
	d.ways.Close()
	for _, p := range []*ebpf.Program{d.Out, d.In, d.Return, d.End} {
		p.Close()
	}
}

// keep has the frame in R6.
func keep() asm.Instructions { return asm.Instructions{asm.Mov.Reg(asm.R6, asm.R1)} }

// follow goes on in another program, unless its slot is empty.
func follow(ways *ebpf.Map, slot int32) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.LoadMapPtr(asm.R2, ways.FD()),
		asm.Mov.Imm(asm.R3, slot),
		asm.FnTailCall.Call(),
	}
}

// unless keeps the frame in R6, and goes on elsewhere with a frame that does not have the mark.
func unless(mark int32, elsewhere string) asm.Instructions {
	return append(keep(),
		asm.LoadMem(asm.R2, asm.R6, atMark, asm.Word),
		asm.JNE.Imm(asm.R2, mark, elsewhere))
}

// begin is where a jump leads.
func begin(name string) asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, 0).WithSymbol(name)}
}

func result(name string, action int32) asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R0, action).WithSymbol(name), asm.Return()}
}

// store writes a field of struct __sk_buff.
func store(field int16, value int32) asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R2, value), asm.StoreMem(asm.R6, field, asm.R2, asm.Word)}
}

// takePort takes the port's index out of the priority, into R8.
func takePort() asm.Instructions {
	return append(asm.Instructions{asm.LoadMem(asm.R8, asm.R6, atPriority, asm.Word)}, store(atPriority, 0)...)
}

func toPort(flags int32) asm.Instructions { return redirect(asm.Mov.Reg(asm.R1, asm.R8), flags) }

// readGroupByte has the byte in R7.
func readGroupByte() asm.Instructions {
	return append(groupByteArguments(),
		asm.FnSkbLoadBytes.Call(),
		asm.JNE.Imm(asm.R0, 0, "drop"),
		asm.LoadMem(asm.R7, asm.RFP, -1, asm.Byte))
}

// ifReceived ends with other instructions for a frame without the group bit, which was not sent by the port.
func ifReceived(end asm.Instructions) asm.Instructions {
	return slices.Concat(asm.Instructions{asm.JSet.Imm(asm.R7, GroupBit, "sent")}, end, begin("sent"))
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

// redirect sends the frame to the interface whose index an instruction has in R1.
func redirect(to asm.Instruction, flags int32) asm.Instructions {
	return asm.Instructions{
		to,
		asm.Mov.Imm(asm.R2, flags),
		asm.FnRedirect.Call(),
		asm.Return(),
	}
}
