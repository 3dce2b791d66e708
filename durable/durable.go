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
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return finish(f, path, err)
}

// Stream replaces the file by what write writes, with that mode. It need not fit into memory.
// A file that is there keeps its mode, and stays as it was if write fails. What is beside it is
// left alone, and of several callers the last one wins. A crash leaves at most .NAME.NUMBER.
func Stream(path string, mode os.FileMode, write func(io.Writer) error) error {
	if is, err := os.Stat(path); err == nil {
		mode = is.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	if err = f.Chmod(mode); err == nil {
		err = write(f)
	}
	return finish(f, path, err)
}

// finish puts a file that has been written in the path's place. After an error, it removes the file.
func finish(f *os.File, path string, err error) error {
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
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
