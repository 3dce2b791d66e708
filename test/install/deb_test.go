package install_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/soak"
)

// TestDebReproducible: the same sources give the same bytes, and every file
// belongs to root.
func TestDebReproducible(t *testing.T) {
	soak.Turn(t, 0)
	first, err := os.ReadFile(deb(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	again := t.TempDir()
	build(t, again)
	env := []string{"HEDDLE_BIN=" + again, "DEB_COMPRESSION=-Zgzip -z1", "TZ=Asia/Tokyo", "LC_ALL=C.UTF-8"}
	path := strings.TrimSpace(must(t, env, "packaging/deb.sh", t.TempDir()))
	second, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Errorf("two builds differ: %d and %d bytes", len(first), len(second))
	}
	if conffiles := must(t, nil, "dpkg-deb", "-f", path, "Conffiles"); strings.TrimSpace(conffiles) != "" {
		t.Errorf("Conffiles is a field: %s", conffiles)
	}
	if conffiles := must(t, nil, "dpkg-deb", "-I", path, "conffiles"); strings.TrimSpace(conffiles) != "/etc/heddle/heddled.yaml" {
		t.Errorf("conffiles: %s", conffiles)
	}
	for _, line := range lines(must(t, nil, "dpkg-deb", "-c", path)) {
		if !strings.Contains(line, " root/root ") {
			t.Errorf("not root's: %s", line)
		}
		if strings.Contains(line, "/etc/cni") || strings.Contains(line, "share/heddle/files") {
			t.Errorf("not wanted: %s", line)
		}
	}
}

// TestDebLintian lets Debian's checker read the package.
func TestDebLintian(t *testing.T) {
	soak.Turn(t, 1)
	if _, err := exec.LookPath("lintian"); err != nil {
		t.Skip("needs lintian")
	}
	path := deb(t, "")
	out, err := run(t, nil, "lintian", "--allow-root", "--no-cfg", "--fail-on", "error,warning", path)
	if err != nil || strings.Contains(out, "W:") || strings.Contains(out, "E:") {
		t.Errorf("lintian: %v\n%s", err, out)
	}
}
