package hardship_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/soak"
)

// The two files of the ledger.
var ledgerFiles = []string{"state/heddle.db", "run/ledger.db"}

// patient is an agent's folder with two living endpoints, whose record is
// damaged and healed again and again.
type patient struct {
	dir    string
	intact map[string][]byte
	before string
}

func newPatient(t *testing.T, mode string) (p *patient, end func()) {
	t.Helper()
	p = &patient{dir: folder(t), intact: map[string][]byte{}}
	a := cell.Start(t, p.dir)
	createNetwork(t, a, mode, 0)
	attach(t, a, 0, "one")
	end = startPing(t, "one", attach(t, a, 0, "two"))
	a.Stop()
	for _, name := range ledgerFiles {
		data, err := os.ReadFile(p.path(name))
		cell.Must(t, err)
		p.intact[name] = data
	}
	p.before = settled(t)
	return p, end
}

func (p *patient) path(name string) string { return filepath.Join(p.dir, name) }

// heal puts both files back as they were.
func (p *patient) heal(t *testing.T) {
	t.Helper()
	for name, data := range p.intact {
		cell.Must(t, os.RemoveAll(p.path(name)))
		cell.Must(t, os.WriteFile(p.path(name), data, 0o600))
	}
}

// start starts an agent on the files as they are, and says whether it ran. A
// refusal must be HDL-4002 with exit code 1 and without a stack trace; nothing
// may have changed in the kernel either way.
func (p *patient) start(t *testing.T) (ran bool) {
	t.Helper()
	os.Remove(p.path("heddled.log"))
	a, err := cell.TryStart(t, p.dir)
	if err == nil {
		a.Stop()
	}
	log, _ := os.ReadFile(p.path("heddled.log"))
	for _, trace := range []string{"panic", "goroutine ", "SIGBUS", "SIGSEGV", "fatal error"} {
		if bytes.Contains(log, []byte(trace)) {
			t.Errorf("a trace instead of an error:\n%s", clip(string(log)))
			break
		}
	}
	if err != nil && (!strings.Contains(err.Error(), "exit 1)") || !strings.Contains(err.Error(), "[HDL-4002]")) {
		t.Errorf("want HDL-4002 and exit code 1: %s", clip(err.Error()))
	}
	unchanged(t, p.before)
	return err == nil
}

// cure heals the files and proves that all is well again.
func (p *patient) cure(t *testing.T) {
	t.Helper()
	p.heal(t)
	a := cell.Start(t, p.dir)
	a.AuditEmpty(t)
	if found, err := a.Check(ctx, endpointID("one")); err != nil || len(found) > 0 {
		t.Errorf("check: %v, %v", found, err)
	}
	wantEndpoints(t, a, 2)
	a.Stop()
	unchanged(t, p.before)
}

// each damages a file in a subtest of its own.
func (p *patient) each(t *testing.T, name string, hurt func(t *testing.T), refused bool) {
	t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
		p.heal(t)
		hurt(t)
		if ran := p.start(t); ran && refused {
			t.Error("the agent runs on a broken ledger")
		}
		if t.Failed() { // so that the next one is not blamed for it
			p.heal(t)
			cell.Start(t, p.dir).Stop()
			p.before = settled(t)
		}
	})
}

// TestLedgerBroken: a file that is plainly none of the agent's is refused, and
// nothing is changed.
func TestLedgerBroken(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		p, end := newPatient(t, mode)
		for _, name := range ledgerFiles {
			path, size := p.path(name), len(p.intact[name])
			for _, length := range []int{1, 100, 4096, 5000, 8192, size / 3, size / 2} {
				p.each(t, fmt.Sprint(name, " cut at ", length), func(t *testing.T) { cell.Must(t, os.Truncate(path, int64(length))) }, length < 8192)
			}
			p.each(t, name+" garbage", func(t *testing.T) { cell.Must(t, os.WriteFile(path, bytes.Repeat([]byte("garbage "), size/8), 0o600)) }, true)
			p.each(t, name+" zeroed", func(t *testing.T) { cell.Must(t, os.WriteFile(path, make([]byte, size), 0o600)) }, true)
			p.each(t, name+" a folder", func(t *testing.T) {
				cell.Must(t, os.Remove(path))
				cell.Must(t, os.Mkdir(path, 0o755))
			}, true)
			// root reads what it may not: only the kernel of a guarded agent refuses
			p.each(t, name+" mode 000", func(t *testing.T) { cell.Must(t, os.Chmod(path, 0)) }, false)
		}
		p.cure(t)
		end()
	})
}

// TestBitFlips: a flipped bit is found, or harmless.
func TestBitFlips(t *testing.T) { bitFlips(t, 10) }

// TestBitFlipsInRecords: the same within the values, which the file's own format
// does not protect: one bit there is another interface's name, or address.
func TestBitFlipsInRecords(t *testing.T) { bitFlipsInRecords(t, 3) }

// TestSoakBitFlips flips many more bits.
func TestSoakBitFlips(t *testing.T) {
	soak.Need(t, "the full scale takes an hour")
	t.Run("anywhere", func(t *testing.T) { bitFlips(t, 1000) })
	t.Run("in records", func(t *testing.T) { bitFlipsInRecords(t, 250) })
}

func bitFlips(t *testing.T, flips int) {
	eachMode(t, func(t *testing.T, mode string) {
		p, end := newPatient(t, mode)
		for _, name := range ledgerFiles {
			r := rand.New(rand.NewPCG(4002, uint64(len(name))))
			for range flips {
				p.flip(t, name, r.IntN(len(p.intact[name])), r.IntN(8))
			}
		}
		p.cure(t)
		end()
	})
}

func bitFlipsInRecords(t *testing.T, flips int) {
	eachMode(t, func(t *testing.T, mode string) {
		p, end := newPatient(t, mode)
		for name, mark := range map[string]string{ledgerFiles[0]: `{"id":`, ledgerFiles[1]: `{"endpoint":`} {
			r := rand.New(rand.NewPCG(4002, uint64(len(mark))))
			// the last copy is as good as any: old ones are in free pages
			found := 0
			for at := 0; found < 4; found++ {
				next := bytes.Index(p.intact[name][at:], []byte(mark))
				if next < 0 {
					break
				}
				at += next + 1
				for range flips {
					p.flip(t, name, min(at+r.IntN(1200), len(p.intact[name])-1), r.IntN(8))
				}
			}
			if found == 0 {
				t.Errorf("no record in %s", name)
			}
		}
		p.cure(t)
		end()
	})
}

func (p *patient) flip(t *testing.T, name string, at, bit int) {
	p.each(t, fmt.Sprintf("%s bit %d of byte %d", name, bit, at), func(t *testing.T) {
		data := bytes.Clone(p.intact[name])
		data[at] ^= 1 << bit
		cell.Must(t, os.WriteFile(p.path(name), data, 0o600))
	}, false)
}
