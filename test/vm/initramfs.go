package vm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle/lab/boot"
)

// The guest's own files. The folder's presence is what tells a process that it runs in a guest.
const (
	guestDir    = "/.heddle-guest"
	argsFile    = guestDir + "/args"    // the test binary's arguments, each ended by a zero byte
	modulesList = guestDir + "/modules" // the paths of the module files in load order, one a line
	ownFolder   = "/usr/local/bin"
)

// writeInitramfs writes the guest's initial root file system.
func (g Guest) writeInitramfs(path string) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create the initramfs: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	a := boot.NewArchive(f)
	for _, part := range []func(*boot.Archive) error{g.putInit, g.putModules, g.putTools, putTestdata} {
		if err := part(a); err != nil {
			return err
		}
	}
	if err := a.Close(); err != nil {
		return fmt.Errorf("write the initramfs %s: %w: check the free space", path, err)
	}
	return nil
}

// putInit puts the test binary as /init, its arguments, and the folders it mounts on.
func (g Guest) putInit(a *boot.Archive) error {
	if err := boot.CheckStatic(boot.Self); err != nil {
		return err
	}
	self, err := os.ReadFile(boot.Self)
	if err != nil {
		return fmt.Errorf("read the test binary: %w", err)
	}
	a.File("/init", 0o755, self)
	var args strings.Builder
	for _, arg := range g.Args {
		args.WriteString(arg + "\x00")
	}
	a.File(argsFile, 0o644, []byte(args.String()))
	for _, m := range mounts {
		a.Dir(m.dir)
	}
	for _, dir := range []string{"/etc", "/root", "/var/lib"} {
		a.Dir(dir)
	}
	a.Link("/var/run", "/run")
	return nil
}

func (g Guest) putModules(a *boot.Archive) error {
	modules, err := g.Kernel.Modules(g.Modules)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, m := range modules {
		path := guestDir + "/" + m.Name + ".ko"
		a.File(path, 0o644, m.Data)
		fmt.Fprintln(&list, path)
	}
	a.File(modulesList, 0o644, []byte(list.String()))
	return nil
}

// putTools puts the tools and their libraries at the paths they have on this machine.
func (g Guest) putTools(a *boot.Archive) error {
	c, err := toolClosure(g.Tools)
	if err != nil {
		return err
	}
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib64"} {
		if target, err := os.Readlink(name); err == nil {
			a.Link(name, target)
		}
	}
	for _, path := range c.files {
		if err := putFile(a, path, path); err != nil {
			return err
		}
	}
	for link, target := range c.links {
		a.Link(link, target)
	}
	for _, path := range g.Own {
		if err := boot.CheckStatic(path); err != nil {
			return err
		}
		if err := putFile(a, filepath.Join(ownFolder, filepath.Base(path)), path); err != nil {
			return err
		}
	}
	return nil
}

// putTestdata puts the package's testdata folder where the guest's tests find it: below their working folder, the root.
func putTestdata(a *boot.Archive) error {
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
func putFile(a *boot.Archive, name, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("put a file into the guest: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("put a file into the guest: %w", err)
	}
	a.File(name, uint32(info.Mode().Perm()), data)
	return nil
}
