package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

// settings is the folder of a namespace's settings. Whoever looks into a
// container's through /proc leaves directory entries "net/ipv4", "net/ipv6",
// "eth0" and so on of that container's in the kernel's cache, all under one name,
// and the kernel searches them in line (proc_sys_compare): a visit would cost
// more with every container there is. So the host's folders are held open, past
// those entries, and a container's settings are those of a proc file system
// mounted for one visit and nowhere, which costs 0.1 ms.
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

// holdFolders opens the folders of settings that plans name; called in the
// host's namespace. What this kernel does not have is left out.
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

// words makes values comparable: several numbers are separated by tabs in some
// settings and by blanks in what people write.
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

// moot reports whether a setting that is not there was only to switch IPv6 or to
// keep it quiet, and the kernel has none. What would use it is refused by itself.
func (s settings) moot(c heddle.Sysctl) bool {
	off := strings.HasSuffix(c.Name, "/disable_ipv6") || strings.HasSuffix(c.Name, "/accept_ra") && c.Value == "0"
	if !off || !strings.HasPrefix(c.Name, "net/ipv6/conf/") {
		return false
	}
	_, err := os.Stat(filepath.Join(s.root, "net/ipv6/conf"))
	return os.IsNotExist(err)
}
