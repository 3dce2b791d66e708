package resolver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-network/heddle/names"
	"github.com/heddle-network/heddle/resolver/process"
)

// maxFile bounds the file of a network: 100,000 endpoints are some 20 MiB.
const maxFile = 64 << 20

// folder is the folder of networks as it was read last.
type folder struct {
	dir   string
	files map[string]*file
	// indexes are the networks, by ID, of which no file has changed since.
	indexes map[string]*names.Index
}

// file is one of a network's files. If it cannot be read, network is what it said before, nil if
// nothing.
type file struct {
	info    fs.FileInfo
	network *names.Network
	err     error
}

func newFolder(dir string) *folder {
	return &folder{dir: dir, files: map[string]*file{}, indexes: map[string]*names.Index{}}
}

// scan reads the files that are new or have changed, and reports whether there were any, or some
// have gone.
func (f *folder) scan() (changed bool) {
	all, err := os.ReadDir(f.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false
	}
	there := map[string]bool{}
	for _, entry := range all {
		name := entry.Name()
		if !ofNetwork(name) {
			continue
		}
		info, err := entry.Info()
		if err != nil {
			continue // it has just gone
		}
		there[name] = true
		if was := f.files[name]; was == nil || !same(was.info, info) {
			f.files[name] = read(filepath.Join(f.dir, name), info, was)
			f.forget(was)
			f.forget(f.files[name])
			changed = true
		}
	}
	for name := range f.files {
		if !there[name] {
			f.forget(f.files[name])
			delete(f.files, name)
			changed = true
		}
	}
	return changed
}

// forget forgets the index of a file's network, as the file has changed.
func (f *folder) forget(one *file) {
	if one != nil && one.network != nil {
		delete(f.indexes, one.network.ID)
	}
}

// ofNetwork reports whether a file of the folder is a network's.
func ofNetwork(name string) bool {
	return strings.HasSuffix(name, ".json") && name != process.StatusFile
}

func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

func read(path string, info fs.FileInfo, was *file) *file {
	now := &file{info: info}
	n, err := readNetwork(path)
	switch {
	case err == nil:
		now.network = &n
	case was != nil:
		now.network, now.err = was.network, err
	default:
		now.err = err
	}
	return now
}

func readNetwork(path string) (n names.Network, err error) {
	f, err := os.Open(path)
	if err != nil {
		return n, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return n, err
	}
	if len(text) > maxFile {
		return n, fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	return n, json.Unmarshal(text, &n)
}

// table is the table of all networks that were read.
func (f *folder) table() *names.Table {
	files := map[string][]names.Network{}
	for _, name := range slices.Sorted(maps.Keys(f.files)) {
		if n := f.files[name].network; n != nil {
			files[n.ID] = append(files[n.ID], *n)
		}
	}
	var all []*names.Index
	for id, parts := range files {
		if f.indexes[id] == nil {
			f.indexes[id] = names.NewIndex(names.Join(parts))
		}
		all = append(all, f.indexes[id])
	}
	return names.NewTable(all...)
}

// unread are the files that could not be read.
func (f *folder) unread() []process.Unread {
	var all []process.Unread
	for name, file := range f.files {
		if file.err != nil {
			all = append(all, process.Unread{File: name, Cause: file.err.Error()})
		}
	}
	slices.SortFunc(all, func(a, b process.Unread) int { return strings.Compare(a.File, b.File) })
	return all
}
