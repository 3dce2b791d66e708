package lab

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestGroupName: labs of one path on two file systems, as in two mount namespaces, do
// not share their groups.
func TestGroupName(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount")
	}
	parent := t.TempDir()
	folder := filepath.Join(parent, "lab")
	name := groupName(folder)
	if again := groupName(folder); again != name {
		t.Errorf("%s, then %s", name, again)
	}
	if err := unix.Mount("tmpfs", parent, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(parent, 0) })
	if other := groupName(folder); other == name {
		t.Errorf("both are %s", name)
	}
}
