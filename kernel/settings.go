package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// settings is the folder with the settings of a namespace. A look into a container's settings
// through /proc leaves directory entries "net/ipv4", "net/ipv6", "eth0" and so on of that container
// in the kernel's cache. All containers have the same names, and the kernel searches these entries
// one by one (proc_sys_compare), so a look would cost more with every container. So the folders of
// the host are held open, which avoids the search. A container's settings are read in a proc file
// system that is mounted nowhere and for one visit, which costs 0.1 ms.
type settings struct {
	root string
	held []heldFolder
	file *os.File
}

// heldFolder is a folder of the host's settings that stays open.
type heldFolder struct {
	prefix string
	file   *os.File
}

// holdFolders opens the folders of settings that plans name. It must be called in the host's
// namespace. Folders that this kernel does not have are left out.
func holdFolders() (held []heldFolder) {
	for _, name := range []string{"net/ipv4/", "net/ipv6/"} {
		if f, err := os.OpenFile("/proc/sys/"+name, unix.O_PATH|unix.O_DIRECTORY, 0); err == nil {
			held = append(held, heldFolder{name, f})
		}
	}
	return held
}

func (s *session) openSettings() settings {
	if !s.pod {
		return settings{root: "/proc/sys", held: s.held}
	}
	fs, err := unix.Fsopen("proc", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return settings{root: "/proc/sys"}
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return settings{root: "/proc/sys"}
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return settings{root: "/proc/sys"}
	}
	return settings{root: fmt.Sprintf("/proc/self/fd/%d/sys", mount), file: os.NewFile(uintptr(mount), "proc")}
}

func (s settings) close() {
	if s.file != nil {
		s.file.Close()
	}
}

// path finds a setting's file; a name must stay below the folder.
func (s settings) path(name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is no setting", name)
	}
	for _, h := range s.held {
		if rest, in := strings.CutPrefix(name, h.prefix); in {
			return fmt.Sprintf("/proc/self/fd/%d/%s", h.file.Fd(), rest), nil
		}
	}
	return filepath.Join(s.root, name), nil
}

// read reads a setting of the calling thread's namespace; sys/net shows each
// reader its own.
func (s settings) read(name string) (string, error) {
	path, err := s.path(name)
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(path)
	return words(string(b)), err
}

// words makes values comparable: some settings separate several numbers by tabs, and people write
// blanks.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }

func (s settings) write(name, value string) error {
	path, err := s.path(name)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(value)
	return err
}

// moot reports whether a missing setting would only switch IPv6 on or off, or silence it, on a
// kernel without IPv6. Objects that need IPv6 are refused anyway.
func (s settings) moot(c heddle.Sysctl) bool {
	off := strings.HasSuffix(c.Name, "/disable_ipv6") || strings.HasSuffix(c.Name, "/accept_ra") && c.Value == "0"
	if !off || !strings.HasPrefix(c.Name, "net/ipv6/conf/") {
		return false
	}
	_, err := os.Stat(filepath.Join(s.root, "net/ipv6/conf"))
	return os.IsNotExist(err)
}
