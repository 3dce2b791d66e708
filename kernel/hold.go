package kernel

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/heddle-network/heddle"
	"golang.org/x/sys/unix"
)

const holdRemedy = "give the agent CAP_SYS_ADMIN, and the mount namespace that the host's other programs have"

// Hold keeps the namespace alive by a bind mount at path, as ip-netns(8) does. The namespace then
// outlives its processes and the agent.
func (n *Netns) Hold(path string) error {
	if held, err := OpenNetns(path); err == nil {
		defer held.Close()
		if held.Same(n) {
			return nil
		}
		if err := Release(path); err != nil {
			return err
		}
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o400); err == nil {
			f.Close()
			err = unix.Mount(fmt.Sprintf("/proc/self/fd/%d", n.fd), path, "", unix.MS_BIND, "")
		}
	}
	if err != nil {
		return heddle.Wrap(heddle.NoPermission, "hold namespace", n.path+" at "+path, err, holdRemedy)
	}
	return nil
}

// Release ends a hold. A missing hold is no error.
func Release(path string) error {
	var err error
	for err == nil { // the path may have more than one mount
		err = unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	}
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOENT) {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return heddle.Wrap(heddle.NoPermission, "release namespace", path, err, holdRemedy)
	}
	return nil
}
