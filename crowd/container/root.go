package container

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// above is the folder over which the root is made, before it takes the place of the host's.
const above = "/tmp"

// inodes is how many files and folders a container may have: an empty one takes memory that no size counts. No source: a guess.
const inodes = 1024

// programs are where a host has programs and libraries; without a merged /usr there is more than one.
var programs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// shared are other files of the host that programs need: where the libraries are, and devices.
var shared = []string{"/etc/ld.so.cache", "/dev/null", "/dev/zero", "/dev/urandom", "/dev/random"}

// root gives the calling thread, which has a mount namespace of its own, a root with the program's files, and takes the
// host's away.
func (p Program) root() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts from others: %w", err)
	}
	if err := unix.Mount("heddle-crowd", above, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, fmt.Sprintf("mode=0755,size=%d,nr_inodes=%d", p.Size, inodes)); err != nil {
		return fmt.Errorf("mount tmpfs: %w", err)
	}
	for _, folder := range programs {
		if err := share(folder); err != nil {
			return err
		}
	}
	for _, file := range shared {
		if err := share(file); err != nil {
			return err
		}
	}
	for _, f := range p.Files {
		if err := f.make(); err != nil {
			return fmt.Errorf("write the container's %s: %w", f.Name, err)
		}
	}
	for _, folder := range p.Folders {
		if err := os.MkdirAll(above+folder, 0o755); err != nil {
			return err
		}
		if err := os.Chown(above+folder, nobody, nobody); err != nil {
			return err
		}
	}
	return turn()
}

// share shows a file or folder of the host, if it is there, as one that cannot be changed.
func share(path string) error {
	is, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && is.Mode()&os.ModeSymlink != 0 { // such as /bin
		to, err := os.Readlink(path)
		if err != nil {
			return err
		}
		return os.Symlink(to, above+path)
	}
	if err == nil {
		err = place(path, is.IsDir())
	}
	if err != nil {
		return fmt.Errorf("make room for %s: %w", path, err)
	}
	if err := unix.Mount(path, above+path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("show %s in a container: %w", path, err)
	}
	attributes := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID}
	if is.IsDir() {
		attributes.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, above+path, unix.AT_RECURSIVE, &attributes); err != nil {
		return fmt.Errorf("keep %s from a container: %w", path, err)
	}
	return nil
}

// place makes what a mount is put on.
func place(path string, folder bool) error {
	if folder {
		return os.MkdirAll(above+path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(above+path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(above+path, nil, 0o644)
}

func (f File) make() error {
	if err := os.MkdirAll(filepath.Dir(above+f.Name), 0o755); err != nil {
		return err
	}
	to, err := os.OpenFile(above+f.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(to, 1<<16)
	err = errors.Join(f.Write(out), out.Flush(), to.Close())
	if err == nil && !f.Changed.IsZero() {
		err = os.Chtimes(to.Name(), f.Changed, f.Changed)
	}
	return err
}

// turn makes the new root the thread's, and unmounts the old one.
func turn() error {
	if err := unix.Chdir(above); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("enter the container's files: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil { // the old one lies above the new one
		return fmt.Errorf("leave the host's files: %w", err)
	}
	return unix.Chdir("/")
}

// Shows reports whether a container sees a file of the host, by a path without links.
func Shows(path string) bool {
	for _, folder := range programs {
		if is, err := os.Lstat(folder); err == nil && is.IsDir() && strings.HasPrefix(path, folder+"/") {
			return true
		}
	}
	return false
}
