package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// scratch holds the layers of the folders that a host may change without changing the
// machine's. It is in the host's own /run, in memory.
const scratch = "/run/.lab"

// overlaid are the machine's folders over which each host has a layer of its own, so that
// it can make mount points and change settings there.
var overlaid = []string{"/etc", "/var/lib"}

// mount gives the host its own view of the file system:
//
//	/run                   an empty tmpfs (so /run/netns, /run/docker, … are its own)
//	/etc, /var/lib         the machine's, under a layer in memory
//	ownFolders             on the lab's disk
//	/run/qmp               the management sockets of the lab's machines, if any has slots
//	/sys/fs/cgroup/*       its own cgroup as the root
//	/proc                  that of its PID namespace
//
// /sys stays as it is: a new sysfs would hide the cgroups mounted below it, which every
// container daemon needs.
func (s spec) mount(folder string) error {
	// A slave mount follows the machine's later unmounts, so the lab keeps no disk of the
	// machine busy. The host's own mounts do not appear outside.
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("part from the machine's mounts: %w", err)
	}
	own, err := cloneFolders(folder)
	if err != nil {
		return err
	}
	if s.Machine != nil {
		if own[sharedFolder], err = cloneTree(folder); err != nil {
			return err
		}
	}
	management := map[string]int{}
	if s.Management {
		if management[managementDir], err = cloneTree(managementFolder(filepath.Dir(folder))); err != nil {
			return err
		}
	}
	for _, step := range []func() error{
		func() error { return bindGroups(s.Group) },
		func() error { return detachBelow(append(overlaid, "/run")) },
		mountRun, overlayFolders,
		func() error { return placeFolders(own) },
		mountProc, s.writeNames, s.shareTree,
		func() error { return placeFolders(management) }, // after shareTree, so that no guest has it
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// cloneFolders clones the mounts of the host's folders. They are usually below /run, which
// a new tmpfs hides soon.
func cloneFolders(folder string) (map[string]int, error) {
	own := map[string]int{}
	for _, target := range ownFolders {
		fd, err := cloneTree(ownFolder(folder, target))
		if err != nil {
			return nil, err
		}
		own[target] = fd
	}
	return own, nil
}

func cloneTree(folder string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, folder, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("take hold of %s: %w", folder, err)
	}
	return fd, nil
}

func placeFolders(own map[string]int) error {
	for target, fd := range own {
		if err := os.MkdirAll(target, 0o711); err != nil {
			return err
		}
		if err := placeTree(fd, target); err != nil {
			return err
		}
	}
	return nil
}

func placeTree(fd int, target string) error {
	defer unix.Close(fd)
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}

// detachBelow unmounts the machine's mounts in folders that other mounts will hide. Hidden
// mounts would keep the machine's containers and namespaces alive as long as the lab is up.
func detachBelow(folders []string) error {
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	for i := len(mounts) - 1; i >= 0; i-- {
		for _, folder := range folders {
			if strings.HasPrefix(mounts[i].point, folder+"/") {
				unix.Unmount(mounts[i].point, unix.MNT_DETACH)
			}
		}
	}
	return nil
}

func mountRun() error {
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	if err := os.Mkdir("/run/lock", 0o777); err != nil {
		return err
	}
	return os.Chmod("/run/lock", 0o777|os.ModeSticky)
}

func overlayFolders() error {
	for _, lower := range overlaid {
		layer := filepath.Join(scratch, strings.ReplaceAll(lower[1:], "/", "-"))
		upper, work := filepath.Join(layer, "upper"), filepath.Join(layer, "work")
		for _, d := range []string{upper, work} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				return err
			}
		}
		options := "lowerdir=" + lower + ",upperdir=" + upper + ",workdir=" + work
		if err := unix.Mount("overlay", lower, "overlay", 0, options); err != nil {
			return fmt.Errorf("cover %s with an overlay: %w", lower, err)
		}
	}
	return os.Chmod(scratch, 0o700)
}

func mountProc() error {
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// writeNames writes the hosts' names to /etc/hosts.
func (s spec) writeNames() error {
	names, _ := os.ReadFile("/etc/hosts")
	names = append(names, "\n"+strings.Join(s.Names, "\n")+"\n"...)
	if err := os.WriteFile("/etc/hosts", names, 0o644); err != nil {
		return err
	}
	return os.WriteFile("/etc/hostname", []byte(s.Name+"\n"), 0o644)
}
