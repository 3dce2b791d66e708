package lab_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/soak"
)

// loopTurns is how often the loop of loopProgram is run; each turn is two instructions.
const loopTurns = 50_000_000

// loopProgram is a program of a known number of instructions: an ELF file of x86-64 with one segment and no libraries.
func loopProgram() []byte {
	const base, headers = 0x400000, 64 + 56
	code := []byte{0xb9}                                        // mov $loopTurns, %ecx
	code = binary.LittleEndian.AppendUint32(code, loopTurns)    //
	code = append(code, 0xff, 0xc9, 0x75, 0xfc)                 // 1: dec %ecx; jnz 1b
	code = append(code, 0xb8, 60, 0, 0, 0, 0x31, 0xff, 0x0f, 5) // exit(0)
	b := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 9)...)
	b = binary.LittleEndian.AppendUint16(b, 2)  // ET_EXEC
	b = binary.LittleEndian.AppendUint16(b, 62) // EM_X86_64
	b = binary.LittleEndian.AppendUint32(b, 1)
	for _, v := range []uint64{base + headers, 64, 0} { // entry, program headers, section headers
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = binary.LittleEndian.AppendUint32(b, 0)
	for _, v := range []uint16{64, 56, 1, 0, 0, 0} {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	b = binary.LittleEndian.AppendUint32(b, 1) // PT_LOAD
	b = binary.LittleEndian.AppendUint32(b, 5) // read, execute
	size := uint64(headers + len(code))
	for _, v := range []uint64{0, base, base, size, size, 0x1000} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return append(b, code...)
}

// busy is how long the machine's processor was not idle. It is idle, too, while somebody waits for a file.
func busy(t *testing.T, h *lab.Host) time.Duration {
	t.Helper()
	text, err := h.Processor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(text, "\nuptime ")
	var up, idle, wait, other float64
	if _, err := fmt.Sscan(line, &up, &idle); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if _, err := fmt.Sscanf(text, "cpu %f %f %f %f %f", &other, &other, &other, &other, &wait); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return time.Duration((up - idle - wait/100) * float64(time.Second))
}

// idle waits until the machine has nothing to do: for a while after its boot the kernel has.
func idle(t *testing.T, h *lab.Host) {
	t.Helper()
	eventually(t, "the machine is idle", func() bool {
		before := busy(t, h)
		time.Sleep(200 * time.Millisecond)
		return busy(t, h)-before < 20*time.Millisecond
	})
}

// took is for how long a program keeps the machine busy, at the least of three times.
func took(t *testing.T, l *lab.Lab, program string) time.Duration {
	t.Helper()
	in(t, l, "host1", program) // so that each start is not the first one
	least := time.Hour
	for range 3 {
		before := busy(t, l.Hosts[0])
		in(t, l, "host1", program)
		least = min(least, busy(t, l.Hosts[0])-before)
	}
	return least
}

// TestICount counts the instructions of a program that has a known number of them.
func TestICount(t *testing.T) {
	soak.Turn(t, 2)
	needMachines(t, "6.12")
	before, dir := survey(t), t.TempDir()
	top := lab.Topology{Name: "icount", Dir: dir, Machine: "6.12", Agent: lab.Agent{Off: true},
		Hosts: []lab.Node{{Name: "host1", ICount: true}, {Name: "host2", Machine: lab.Namespaces}}}
	l, err := lab.Raise(t.Context(), top)
	if err != nil && strings.Contains(err.Error(), "own processor") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
		noTrace(t, before, dir)
	})
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.WriteFile(loop, loopProgram(), 0o755); err != nil {
		t.Fatal(err)
	}
	idle(t, l.Hosts[0])
	// What is more than for true is the loop. The kernel's ticks interrupt it, and count too. So does what else the machine does, which is
	// not the same each time.
	loops, start := took(t, l, loop), took(t, l, "true")
	took, want := loops-start, 2*loopTurns*lab.InstructionTime
	t.Logf("%d instructions took %s of the machine's clock, and a start %s", 2*loopTurns, took, start)
	if took < want-want/20 || took > want+want/10 {
		t.Errorf("%d instructions took %s, want %s", 2*loopTurns, took, want)
	}
	if _, err := l.Hosts[1].Processor(t.Context()); err == nil || !strings.Contains(err.Error(), "no virtual machine") {
		t.Errorf("a host of namespaces: %v", err)
	}
}
