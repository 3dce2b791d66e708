// Package durable writes files that are whole on the disk, before and after a crash.
package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// Replace replaces the file by one that only its owner can read, and returns when it is on
// the disk. A crash leaves at most PATH.new beside it. It takes one caller at a time.
func Replace(path string, text []byte) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return err
	}
	return Folder(filepath.Dir(path))
}

// Folder returns when the folder's names, also those that were removed, are on the disk.
func Folder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
