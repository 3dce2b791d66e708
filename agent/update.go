package agent

import (
	"errors"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// interruptions bounds how often a write is tried again.
const interruptions = 100

// update writes to one of the ledger's files, all or nothing. A signal may interrupt
// fdatasync(2), which package bbolt does not try again: Go's runtime sends its threads
// signals all the time.
func update(db *bbolt.DB, do func(*bbolt.Tx) error) (err error) {
	for range interruptions {
		if err = db.Update(do); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return err
}
