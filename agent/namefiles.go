package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
	"github.com/heddle-network/heddle/names"
)

// namesDir is the folder of the tables' files, below the run folder.
const namesDir = "names"

// nameFile is the form of a table's files: the network's ID, and the number of a part.
var nameFile = lazyregexp.New(`^([0-9a-f]{16})(?:-[0-9a-f]{2})?\.json(\.new)?$`)

// open makes the folder, and removes what earlier agents have left: files of networks that are
// gone, and those that were not finished.
func (t *nameTables) open() error {
	if err := os.MkdirAll(t.dir, 0o755); err != nil {
		return heddle.Wrap(heddle.LedgerFull, "make folder", t.dir, err, "give a folder that can be written with --run-dir")
	}
	found, err := os.ReadDir(t.dir)
	if err != nil {
		return heddle.Wrap(heddle.LedgerFull, "read folder", t.dir, err, "give a folder that can be read with --run-dir")
	}
	for _, f := range found {
		part := nameFile.FindStringSubmatch(f.Name())
		if part == nil || part[2] == "" && t.networks.byID(part[1]) != nil {
			continue
		}
		if err := os.Remove(filepath.Join(t.dir, f.Name())); err != nil {
			t.log.Warn("an old file of names stays", "file", f.Name(), "error", err)
		}
	}
	return nil
}

// writeForwards tells the resolver the domains with name servers of their own, once.
func (t *nameTables) writeForwards() error {
	if t.forwardsTold {
		return nil
	}
	path := filepath.Join(t.dir, names.ForwardFile)
	if len(t.forwards) > 0 {
		if err := t.replace(path, t.forwards); err != nil {
			return err
		}
	} else if err := removeFile(path); err != nil {
		return err
	}
	t.forwardsTold = true
	return nil
}

func (t *nameTables) path(network string) string { return filepath.Join(t.dir, network+".json") }

func (t *nameTables) partPath(network string, part int) string {
	return filepath.Join(t.dir, fmt.Sprintf("%s-%02x.json", network, part))
}

func (t *nameTables) replace(path string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err = os.WriteFile(path+".new", text, 0o600); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return heddle.Wrap(heddle.LedgerFull, "write file", path, err, "make room on the file system of the run folder")
	}
	return nil
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return heddle.Wrap(heddle.LedgerFull, "remove file", path, err, "look at the file system of the run folder")
	}
	return nil
}

// removeFiles removes the files of a network that has so many parts.
func (t *nameTables) removeFiles(network string, parts int) error {
	if parts > 1 {
		if err := t.removeParts(network); err != nil {
			return err
		}
	}
	return removeFile(t.path(network))
}

func (t *nameTables) removeParts(network string) error {
	for part := range nameParts {
		if err := removeFile(t.partPath(network, part)); err != nil {
			return err
		}
	}
	return nil
}

// readOthers returns what an earlier agent knew of a network's endpoints on other hosts: that goes
// on to hold until the store was seen.
func (t *nameTables) readOthers(network string) (all []names.Endpoint) {
	parts, _ := filepath.Glob(filepath.Join(t.dir, network+"-*.json"))
	for _, path := range append(parts, t.path(network)) {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var was names.Network
		if err := json.Unmarshal(text, &was); err != nil {
			t.log.Warn("a file of names cannot be read; it is written anew", "file", path, "error", err)
			continue
		}
		all = append(all, slices.DeleteFunc(was.Endpoints, func(e names.Endpoint) bool { return e.Host == "" })...)
	}
	return all
}
