package agent

import (
	"errors"

	"go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// interruptions bounds how often an operation is tried again.
const interruptions = 100

// uninterrupted tries again what a signal has interrupted: Go's runtime sends its threads
// signals all the time.
func uninterrupted(do func() error) (err error) {
	for range interruptions {
		if err = do(); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return err
}

// update writes to one of the ledger's files what is about the object, all or nothing.
// Package bbolt does not try fdatasync(2) again.
func update(db *bbolt.DB, object string, do func(*bbolt.Tx) error) error {
	if err := uninterrupted(func() error { return db.Update(do) }); err != nil {
		return writeError(object, err)
	}
	return nil
}
