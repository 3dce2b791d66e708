package cell

import (
	"debug/buildinfo"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// fresh reports whether a program was built by this Go after the last change of anything in the
// repository. Otherwise go has to look, which takes half a second of work for each program and package.
func fresh(program string) bool {
	built, err := os.Stat(program)
	if err != nil {
		return false
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil || info.GoVersion != runtime.Version() {
		return false
	}
	root, err := repository()
	if err != nil {
		return false
	}
	// a folder elsewhere may be shared with another copy of the repository
	inside, err := filepath.Rel(filepath.Join(root, "bin"), program)
	return err == nil && filepath.IsLocal(inside) && unchanged(root, built.ModTime())
}

// repository is the folder with go.mod, at or above the working folder.
func repository() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fs.ErrNotExist
		}
	}
	return "", err
}

var errChanged = errors.New("changed")

// unchanged reports whether no file and no folder was changed, moved or removed since then. It goes by the
// time of change (ctime, inode(7)), as a copy keeps another's time of modification. What git and builds
// write for themselves (.git, bin) does not count.
func unchanged(root string, since time.Time) bool {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (path == filepath.Join(root, ".git") || path == filepath.Join(root, "bin")) {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok || !time.Unix(stat.Ctim.Unix()).Before(since) {
			return errChanged
		}
		return nil
	}) == nil
}
