package install_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPurgeRefused: with an agent that answers, PURGE=1 removes nothing.
func TestPurgeRefused(t *testing.T) {
	env, dest := binaries(t), t.TempDir()
	must(t, env, "packaging/install.sh", dest, "/usr")
	socket := filepath.Join(dest, "run/heddle/heddle.sock")
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := http.Server{Handler: http.NotFoundHandler()}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"ready":true}`)) })
	go server.Serve(l)
	before := len(files(t, dest))
	out, err := run(t, []string{"PURGE=1"}, "packaging/uninstall.sh", dest, "/usr")
	if err == nil || !strings.Contains(out, "an agent answers") {
		t.Errorf("purged under a living agent: %v %s", err, out)
	}
	if after := len(files(t, dest)); after != before {
		t.Errorf("%d files before, %d after", before, after)
	}
	server.Close()
	must(t, []string{"PURGE=1"}, "packaging/uninstall.sh", dest, "/usr")
}

// TestUnit lets systemd read the unit as it is installed.
func TestUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("needs systemd-analyze (package systemd)")
	}
	dest := t.TempDir()
	must(t, binaries(t), "packaging/install.sh", dest, "/usr")
	must(t, nil, "sh", "-c", "mkdir -p "+dest+"/usr/share/man/man8 && cp -rL /lib/systemd/system/sysinit.target "+dest+"/usr/lib/systemd/system/ 2>/dev/null || true")
	out, err := run(t, nil, "systemd-analyze", "verify", "--root="+dest, "--man=no", "--recursive-errors=no", "heddled.service", "heddled-vpc@red.service")
	if err != nil || strings.Contains(out, "heddled.service:") || strings.Contains(out, "heddled-vpc@red.service:") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
}

// TestUnitHasNoMounts: the mounts by which the agent holds namespaces must be
// the host's (docs/adr/0009-holds.md).
func TestUnitHasNoMounts(t *testing.T) {
	var text []byte
	for _, unit := range []string{"heddled", "heddled-vpc@"} {
		one, err := os.ReadFile("../../packaging/systemd/" + unit + ".service")
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, one...)
	}
	for _, line := range strings.Split(string(text), "\n") {
		for _, option := range []string{"Protect", "Private", "ReadOnlyPaths", "ReadWritePaths", "InaccessiblePaths", "NoExecPaths", "ExecPaths",
			"BindPaths", "BindReadOnlyPaths", "TemporaryFileSystem", "MountFlags", "RootDirectory", "RootImage", "MountImages", "ExtensionImages", "DynamicUser", "RestrictNamespaces"} {
			if strings.HasPrefix(line, option) {
				t.Errorf("%s gives the unit a mount namespace of its own, or forbids to make mounts", line)
			}
		}
	}
}
