package hardship_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// TestLedgerLost: a file that is missing or empty is a new ledger. The agent may
// begin one, but not take living containers for leftovers: without their
// records it refuses to start, or leaves their objects until gc is called.
func TestLedgerLost(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		p, end := newPatient(t, mode)
		for _, name := range ledgerFiles {
			p.each(t, name+" empty", func(t *testing.T) { cell.Must(t, os.Truncate(p.path(name), 0)) }, name == ledgerFiles[0])
			p.each(t, name+" missing", func(t *testing.T) { cell.Must(t, os.Remove(p.path(name))) }, name == ledgerFiles[0])
		}
		p.each(t, "run ledger missing, second start", func(t *testing.T) {
			cell.Must(t, os.Remove(p.path(ledgerFiles[1])))
			if a, err := cell.TryStart(t, p.dir); err == nil {
				a.Stop()
			}
		}, false)
		p.cure(t)
		end()
	})
}

// TestGivenUp: whoever gives up the records of containers that are there gets rid
// of what is left by gc, and can go on.
func TestGivenUp(t *testing.T) {
	eachMode(t, func(t *testing.T, mode string) {
		dir := folder(t)
		a := cell.Start(t, dir)
		createNetwork(t, a, mode, 0)
		attach(t, a, 0, "one")
		a.Stop()
		cell.Must(t, os.Remove(filepath.Join(dir, ledgerFiles[1])))
		a = cell.Start(t, dir)
		_, err := a.GC(ctx, "", nil)
		cell.Must(t, err)
		a.AuditEmpty(t)
		attach(t, a, 0, "two")
		a.Kill()
		cell.Start(t, dir).AuditEmpty(t)
	})
}
