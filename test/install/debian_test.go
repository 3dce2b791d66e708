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

// deb builds the package of the given version, git's if it is empty, once.
func deb(t *testing.T, version string) string {
	t.Helper()
	need(t, "dpkg-deb", "git")
	env := append(binaries(t), "DEB_COMPRESSION=-Zgzip -z1")
	if version != "" {
		env = append(env, "DEB_VERSION="+version)
	}
	dir := filepath.Join(built, "deb", version)
	if have, _ := filepath.Glob(dir + "/*.deb"); len(have) == 1 {
		return have[0]
	}
	return strings.TrimSpace(must(t, env, "packaging/deb.sh", dir))
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
