package install_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// need skips the test where programs or rights are missing.
func need(t *testing.T, programs ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("needs %s (make deps)", p)
		}
	}
}

// debian returns a Debian's folder in the cache: "bare" or "systemd". It is not
// to be written to.
func debian(t *testing.T, form string) string {
	t.Helper()
	need(t, "debootstrap", "unshare", "chroot")
	out, err := run(t, nil, "test/install/testdata/tree.sh", form)
	if err != nil {
		t.Skipf("no Debian to install on: %v\n%s", err, out)
	}
	return strings.TrimSpace(out)
}

// deb builds the package of the given version, git's if it is empty.
func deb(t *testing.T, env []string, version string) string {
	t.Helper()
	need(t, "dpkg-deb", "git")
	if version != "" {
		env = append(env, "DEB_VERSION="+version)
	}
	path := strings.TrimSpace(must(t, env, "packaging/deb.sh", t.TempDir()))
	if _, err := os.Stat(path); err != nil || filepath.Ext(path) != ".deb" {
		t.Fatalf("no package: %v", err)
	}
	return path
}

// lines are the lines of a text that are not empty.
func lines(text string) (all []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}
