package agent

import (
	"errors"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// maxInterruptions limits how often an operation is tried again.
const maxInterruptions = 100

// uninterrupted tries again an operation that a signal has interrupted: Go's runtime often sends
// signals to its threads.
func uninterrupted(do func() error) (err error) {
	for range maxInterruptions {
		if err = do(); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return err
}

// update runs a write transaction about the object on one of the ledger's files. Package bbolt
// does not try fdatasync(2) again, so update does.
func update(db *bbolt.DB, object string, do func(*bbolt.Tx) error) error {
	if err := uninterrupted(func() error { return db.Update(do) }); err != nil {
		return writeError(object, err)
	}
	return nil
}
