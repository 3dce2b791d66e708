package runtimes_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// furnish gives the cell folders of its own where runtimes and make install
// write, so that both are used as on any machine and leave no trace.
var furnish = sync.OnceValue(func() error {
	for _, dir := range []string{"/etc", "/opt", "/usr/lib/cni", "/usr/local"} {
		if err := overlay(dir); err != nil {
			return err
		}
	}
	for _, dir := range []string{"/var/lib", "/dev/shm"} {
		if err := unix.Mount("cell", dir, "tmpfs", 0, "mode=755"); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	return settleCgroups()
})

// overlay lets writes to a folder go to the cell's /run, and shows what other folders have above what
// it has.
func overlay(dir string, others ...string) error {
	lower := strings.Join(append(others, dir), ":")
	above := filepath.Join("/run/above", dir)
	for _, d := range []string{dir, above + "/upper", above + "/work"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("cell", dir, "overlay", 0, fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%[2]s/work", lower, above)); err != nil {
		return fmt.Errorf("mount an overlay on %s: %w", dir, err)
	}
	return nil
}

// above has /usr have what packages of another Debian have, and all that they depend on, above what the machine has, for the length of the test.
func above(t *testing.T, packages string) {
	t.Helper()
	cell.Must(t, overlay("/usr", packages+"/usr"))
	t.Cleanup(func() { cell.Must(t, unix.Unmount("/usr", unix.MNT_DETACH)) })
}

// settleCgroups takes the second hierarchy out of sight where both versions are
// mounted: crun refuses such a mixture if it has controllers.
var settleCgroups = sync.OnceValue(func() error {
	const second = "/sys/fs/cgroup/unified"
	if _, err := os.Stat(second); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := unix.Unmount(second, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("unmount %s: %w", second, err)
	}
	return nil
})

// cgroup names a control group for the test's containers, and removes it after
// them: control groups are the one thing that a cell does not keep inside. So it
// does with what LXC leaves at the top, lxc.pivot, if that was not there.
func cgroup(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("heddle-test-%d", os.Getpid())
	ours := "-path '*/" + name + "*'"
	if pivots, err := cell.TrySh("find /sys/fs/cgroup -maxdepth 2 -name lxc.pivot"); err == nil && pivots == "" {
		ours += " -o -name lxc.pivot"
	}
	t.Cleanup(func() {
		// one whose last process has just been killed is busy for a moment
		world.Within(t, time.Minute, "the control groups are removed", func() error {
			out, err := cell.TrySh(`find /sys/fs/cgroup -depth -type d \( %s \) -delete`, ours)
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			return err
		})
	})
	return name
}

// rootfs makes a container's root: busybox under its names, and serve.
func rootfs(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "rootfs")
	cell.Sh(t, `cd %s/serve && CGO_ENABLED=0 go build -ldflags '-s -w' -o %s/bin/serve .
		cd %[2]s && mkdir dev etc proc run sys tmp
		cp "$(command -v busybox)" bin/busybox
		for name in sh ip ping sleep cat; do ln -s busybox bin/$name; done`, here(t), dir)
	return dir
}

// here is the package's folder.
func here(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
