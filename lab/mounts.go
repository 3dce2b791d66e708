package lab

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// mounted is one line of /proc/self/mountinfo.
type mounted struct{ point, kind string }

// readMounts lists the mounts. A mount comes after those below it.
func readMounts() ([]mounted, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var all []mounted
	for line := range strings.Lines(string(b)) {
		before, after, _ := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) >= 5 && len(right) >= 1 {
			all = append(all, mounted{unescape.Replace(left[4]), right[0]})
		}
	}
	return all, nil
}

var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// unmountBelow unmounts what the machine has mounted in the folder, so that removing the
// folder cannot remove the files of a mount.
func unmountBelow(folder string) error {
	mounts, err := readMounts()
	if err != nil {
		return err
	}
	for i := len(mounts) - 1; i >= 0; i-- {
		if !strings.HasPrefix(mounts[i].point, folder+"/") {
			continue
		}
		if err := unix.Unmount(mounts[i].point, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", mounts[i].point, err)
		}
	}
	return nil
}

// sysctlPath returns the file of a sysctl. Like sysctl(8), it takes dots for separators
// unless the name holds a slash.
func sysctlPath(key string) string {
	if !strings.Contains(key, "/") {
		key = strings.ReplaceAll(key, ".", "/")
	}
	return "/proc/sys/" + key
}
