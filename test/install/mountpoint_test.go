package install_test

import (
	"os"
	"strings"
	"testing"
)

// TestPurgeMountPoint: a state folder that is a mount point, or has one below it, is emptied, and
// the purge succeeds. What cannot be deleted is told, and is an error of the package's.
func TestPurgeMountPoint(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	// a machine's folders, of which nothing is the real machine's
	const scene = `set -e
		mount -t tmpfs tmpfs /var/lib; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /etc
		mkdir -p /var/lib/heddle /run/heddle
		mount -t tmpfs state /var/lib/heddle; mkdir -p /var/lib/heddle/cluster/store
		mount -t tmpfs store /var/lib/heddle/cluster/store
		touch /var/lib/heddle/one /var/lib/heddle/cluster/store/two /run/heddle/three
		mkdir -p /run/prefix/bin /run/prefix/lib/heddle; cp packaging/purge.sh /run/prefix/lib/heddle/purge
		`
	// left lists the files that are there after the purge
	const left = `; code=$?; find /var/lib/heddle /run/heddle ! -type d 2>/dev/null; echo "exit $code"`
	for name, purge := range map[string]string{"package": "packaging/debian/postrm purge", "make": "/run/prefix/lib/heddle/purge"} {
		t.Run(name, func(t *testing.T) {
			out := must(t, nil, "unshare", "-m", "sh", "-c", scene+"set +e; "+purge+left)
			if !strings.HasSuffix(out, "exit 0\n") || strings.Contains(out, "/lib/heddle/") {
				t.Errorf("a mount point: %s", out)
			}
			out = must(t, nil, "unshare", "-m", "sh", "-c", scene+"mount -o remount,ro /var/lib/heddle/cluster/store; set +e; "+purge+left)
			if !strings.Contains(out, "heddle purge: not deleted: /var/lib/heddle/cluster/store/two\n") {
				t.Errorf("a read-only folder: %s", out)
			}
			if failed := strings.Contains(out, "exit 1\n"); failed != (name == "package") {
				t.Errorf("a read-only folder: %s", out)
			}
		})
	}
}
