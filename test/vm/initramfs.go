package vm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The guest's own files. The folder's presence is what tells a process that it runs in a guest.
const (
	guestDir    = "/.heddle-guest"
	argsFile    = guestDir + "/args"    // the test binary's arguments, each ended by a zero byte
	modulesList = guestDir + "/modules" // the paths of the module files in load order, one a line
)

// writeInitramfs writes the guest's initial root file system.
func (g Guest) writeInitramfs(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create the initramfs: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	a := newArchive(f)
	for _, part := range []func(*archive) error{g.putInit, g.putModules, g.putTools, putTestdata} {
		if err := part(a); err != nil {
			return err
		}
	}
	if err := a.close(); err != nil {
		return fmt.Errorf("write the initramfs %s: %w: check the free space", path, err)
	}
	return nil
}

// putInit puts the test binary as /init, its arguments, and the folders it mounts on.
func (g Guest) putInit(a *archive) error {
	if err := checkStatic(selfBinary); err != nil {
		return err
	}
	self, err := os.ReadFile(selfBinary)
	if err != nil {
		return fmt.Errorf("read the test binary: %w", err)
	}
	a.file("/init", 0o755, self)
	var args strings.Builder
	for _, arg := range g.Args {
		args.WriteString(arg + "\x00")
	}
	a.file(argsFile, 0o644, []byte(args.String()))
	for _, m := range mounts {
		a.dir(m.dir)
	}
	for _, dir := range []string{"/etc", "/root", "/var/lib"} {
		a.dir(dir)
	}
	a.link("/var/run", "/run")
	return nil
}

func (g Guest) putModules(a *archive) error {
	modules, err := modulesOf(g.Kernel, g.Modules)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, m := range modules {
		path := guestDir + "/" + m.name + ".ko"
		a.file(path, 0o644, m.data)
		fmt.Fprintln(&list, path)
	}
	a.file(modulesList, 0o644, []byte(list.String()))
	return nil
}

// putTools puts the tools and their libraries at the paths they have on this machine.
func (g Guest) putTools(a *archive) error {
	c, err := toolClosure(g.Tools)
	if err != nil {
		return err
	}
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
		if target, err := os.Readlink(name); err == nil {
			a.link(name, target)
		}
	}
	for _, path := range c.files {
		if err := putFile(a, path, path); err != nil {
			return err
		}
	}
	for link, target := range c.links {
		a.link(link, target)
	}
	return nil
}

// putTestdata puts the package's testdata folder where the guest's tests find it: below their working folder, the root.
func putTestdata(a *archive) error {
	return filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == "testdata":
			return nil
		case err != nil || !d.Type().IsRegular():
			return err
		}
		return putFile(a, "/"+path, path)
	})
}

// putFile copies the file at path from this machine.
func putFile(a *archive, name, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("put a file into the guest: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("put a file into the guest: %w", err)
	}
	a.file(name, uint32(info.Mode().Perm()), data)
	return nil
}
