// Package install_test installs heddle into a folder, runs what is there, and
// takes it away again.
package install_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// run runs a program from the root of the repository.
func run(t *testing.T, env []string, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	out, err := run(t, env, name, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return out
}

// files lists a folder, each file with its mode.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, _ := d.Info()
			all = append(all, strings.TrimPrefix(path, dir)+" "+info.Mode().String())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// binaries builds the three programs.
func binaries(t *testing.T) (env []string) {
	t.Helper()
	bin := t.TempDir()
	must(t, []string{"CGO_ENABLED=0"}, "go", "build", "-o", bin, "./cmd/...")
	return []string{"HEDDLE_BIN=" + bin}
}

// TestInstall installs twice under both prefixes, and uninstalls.
func TestInstall(t *testing.T) {
	env := binaries(t)
	for prefix, unit := range map[string]string{"/usr": "/lib/systemd/system", "/usr/local": "/etc/systemd/system"} {
		t.Run(strings.Trim(prefix, "/"), func(t *testing.T) {
			dest := t.TempDir()
			must(t, env, "packaging/install.sh", dest, prefix)
			first := files(t, dest)
			for _, want := range []string{
				prefix + "/bin/heddle -rwxr-xr-x", prefix + "/bin/heddled -rwxr-xr-x", "/opt/cni/bin/heddle-cni -rwxr-xr-x",
				"/etc/heddle/heddled.yaml -rw-r--r--", unit + "/heddled.service -rw-r--r--",
				prefix + "/share/heddle/cni/10-heddle.conflist -rw-r--r--", prefix + "/share/heddle/cni/examples/heddle-routed.conflist -rw-r--r--",
				prefix + "/share/man/man1/heddle.1 -rw-r--r--", prefix + "/share/man/man1/heddle-attach.1 -rw-r--r--", prefix + "/share/man/man8/heddled.8 -rw-r--r--",
				prefix + "/share/bash-completion/completions/heddle -rw-r--r--", prefix + "/share/zsh/site-functions/_heddle -rw-r--r--",
				prefix + "/share/fish/vendor_completions.d/heddle.fish -rw-r--r--",
			} {
				if !slices.Contains(first, want) {
					t.Errorf("missing: %s", want)
				}
			}
			for _, f := range first {
				if strings.Contains(f, "/etc/cni") || strings.Contains(f, ".new.") || strings.Contains(f, ".wants") {
					t.Errorf("not wanted: %s", f)
				}
			}
			again(t, env, dest, prefix, first)
			runs(t, dest+prefix, dest+unit+"/heddled.service", prefix)
			gone(t, env, dest, prefix)
		})
	}
}

// again installs over an installation with a configuration of its own and a
// file of an older version.
func again(t *testing.T, env []string, dest, prefix string, first []string) {
	t.Helper()
	config, list := dest+"/etc/heddle/heddled.yaml", dest+prefix+"/share/heddle/files"
	old := dest + prefix + "/share/man/man1/heddle-old.1"
	for path, text := range map[string]string{config: "name: mine\n", old: "old"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must(t, nil, "sh", "-c", "echo "+prefix+"/share/man/man1/heddle-old.1 >>"+list)
	must(t, env, "packaging/install.sh", dest, prefix)
	if second := files(t, dest); !slices.Equal(first, second) {
		t.Errorf("installed again: %v\nbefore: %v", second, first)
	}
	if text, _ := os.ReadFile(config); string(text) != "name: mine\n" {
		t.Errorf("the configuration was replaced: %s", text)
	}
}

// runs starts what was installed and reads the unit.
func runs(t *testing.T, root, unit, prefix string) {
	t.Helper()
	if out := must(t, nil, root+"/bin/heddle", "version"); !strings.HasPrefix(out, "heddle ") {
		t.Errorf("heddle version: %s", out)
	}
	if out := must(t, nil, root+"/bin/heddled", "--version"); !strings.HasPrefix(out, "heddled version ") {
		t.Errorf("heddled --version: %s", out)
	}
	text, err := os.ReadFile(unit)
	if want := "\nExecStart=" + prefix + "/bin/heddled --config /etc/heddle/heddled.yaml\n"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("the unit does not say%s%v", want, err)
	}
	if _, err := exec.LookPath("man"); err == nil {
		if out := must(t, []string{"MANWIDTH=80", "LC_ALL=C"}, "man", "--warnings", "-l", root+"/share/man/man8/heddled.8"); !strings.Contains(out, "--socket-group") || strings.Contains(out, "warning:") {
			t.Errorf("heddled(8): %s", out)
		}
	}
}

// gone uninstalls, then purges: first the configuration stays, then nothing.
func gone(t *testing.T, env []string, dest, prefix string) {
	t.Helper()
	must(t, nil, "packaging/uninstall.sh", dest, prefix)
	if left := files(t, dest); len(left) != 1 || !strings.HasPrefix(left[0], "/etc/heddle/heddled.yaml") {
		t.Errorf("left: %v", left)
	}
	must(t, env, "packaging/install.sh", dest, prefix)
	must(t, nil, "sh", "-c", "mkdir -p "+dest+"/var/lib/heddle && echo x >"+dest+"/var/lib/heddle/heddle.db")
	must(t, []string{"PURGE=1"}, "packaging/uninstall.sh", dest, prefix)
	if left, err := os.ReadDir(dest); err != nil || len(left) > 0 {
		t.Errorf("left: %v %v", left, err)
	}
}
