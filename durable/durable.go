// Package durable writes files that are whole on the disk, before and after a crash.
package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Replace replaces the file by one that only its owner can read, and returns when it is on
// the disk. A crash leaves at most PATH.new beside it. It takes one caller at a time.
func Replace(path string, text []byte) error {
	return Stream(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Stream does the same with what write writes, for a file that need not fit into memory.
// If write fails, the file stays as it was.
func Stream(path string, mode os.FileMode, write func(io.Writer) error) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		_ = os.Remove(path + ".new")
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
