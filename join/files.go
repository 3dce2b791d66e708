package join

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/durable"
)

// The files of a host that belongs to a cluster.
const (
	fileAuthority = "ca.crt"
	fileHostKey   = "host.key"
	fileHost      = "host.crt"
	// fileRecord is written last when a host joins: without it, the host has not joined.
	fileRecord = "host.json"
	// fileEndpoints has the URLs of the store, fileMembers its members, both as last known.
	fileEndpoints = "endpoints"
	fileMembers   = "members.json"
	fileID        = "id"

	// the files of members of the store
	fileAuthorityKey = "ca.key"
	fileServerKey    = "server.key"
	fileServer       = "server.crt"
	fileOperator     = "operator.pem"
	dirData          = "etcd"
)

// folder holds secrets: only its owner may read it (0700, files 0600).
type folder string

func (f folder) path(name string) string { return filepath.Join(string(f), name) }

func (f folder) read(name string) ([]byte, error) {
	data, err := os.ReadFile(f.path(name))
	if err != nil {
		return nil, heddle.Wrap(heddle.LedgerBroken, "read file", f.path(name), err,
			"restore the file from a backup, or move the folder away and join again")
	}
	return data, nil
}

func (f folder) has(name string) bool {
	_, err := os.Stat(f.path(name))
	return err == nil
}

// write replaces a whole file, and returns when it is on the disk.
func (f folder) write(name string, data []byte) error {
	if err := f.put(name, data); err != nil {
		return heddle.Wrap(heddle.LedgerFull, "write file", f.path(name), err,
			"make room on the disk, or give another folder with --state-dir")
	}
	return nil
}

func (f folder) put(name string, data []byte) error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	if err := os.Chmod(string(f), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(string(f), "."+name+"-*") // made with 0600
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), f.path(name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return durable.Folder(string(f))
}

// remove deletes files, and what interrupted writes of them left. A missing file is no
// error.
func (f folder) remove(names ...string) error {
	var errs []error
	there, _ := os.ReadDir(string(f)) // there may be no folder
	for _, name := range names {
		for _, e := range there {
			if strings.HasPrefix(e.Name(), "."+name+"-") { // see write
				errs = append(errs, os.Remove(f.path(e.Name())))
			}
		}
		errs = append(errs, os.RemoveAll(f.path(name)))
	}
	return errors.Join(errs...)
}
