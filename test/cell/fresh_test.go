package cell

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestUnchanged changes a tree in each way; what git and builds keep in it does not count.
func TestUnchanged(t *testing.T) {
	for name, change := range map[string]func(root string) error{
		"":                   func(string) error { return nil },
		"of git":             func(root string) error { return os.WriteFile(filepath.Join(root, ".git", "index"), nil, 0o600) },
		"of a build":         func(root string) error { return os.WriteFile(filepath.Join(root, "bin", "program"), nil, 0o600) },
		"written":            func(root string) error { return os.WriteFile(filepath.Join(root, "a", "one.go"), []byte("2"), 0o600) },
		"removed":            func(root string) error { return os.Remove(filepath.Join(root, "a", "one.go")) },
		"removed at the top": func(root string) error { return os.Remove(filepath.Join(root, "top.go")) },
		"copied with its old time": func(root string) error {
			return os.Chtimes(filepath.Join(root, "a", "one.go"), time.Unix(1, 0), time.Unix(1, 0))
		},
		"moved": func(root string) error {
			return os.Rename(filepath.Join(root, "a", "one.go"), filepath.Join(root, "b", "one.go"))
		},
	} {
		root := t.TempDir()
		for _, dir := range []string{".git", "bin", "a", "b"} {
			Must(t, os.Mkdir(filepath.Join(root, dir), 0o755))
		}
		Must(t, os.WriteFile(filepath.Join(root, "a", "one.go"), []byte("1"), 0o600))
		Must(t, os.WriteFile(filepath.Join(root, "top.go"), nil, 0o600))
		time.Sleep(10 * time.Millisecond) // the kernel's clock of files is a coarse one
		since := time.Now()
		time.Sleep(10 * time.Millisecond)
		Must(t, change(root))
		want := name == "" || name == "of git" || name == "of a build"
		if got := unchanged(root, since); got != want {
			t.Errorf("%q: unchanged is %v", name, got)
		}
	}
}
