package resolver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
}

// file is a network's file. If it cannot be read, index is what it said before.
type file struct {
	info  fs.FileInfo
	index *names.Index
	err   error
}

func newFolder(dir string) *folder { return &folder{dir: dir, files: map[string]*file{}} }

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
			changed = true
		}
	}
	for name := range f.files {
		if !there[name] {
			delete(f.files, name)
			changed = true
		}
	}
	return changed
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
		now.index = names.NewIndex(n)
	case was != nil:
		now.index, now.err = was.index, err
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
	var all []*names.Index
	for _, file := range f.files {
		if file.index != nil {
			all = append(all, file.index)
		}
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
