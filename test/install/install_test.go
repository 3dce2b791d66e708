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
	"sync"
	"testing"
)

// run runs a program from the root of the repository.
func run(t *testing.T, env []string, name string, args ...string) (string, error) {
	t.Helper()
	remember()
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

// files lists a folder, folders within included, each with its mode.
func files(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != dir {
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

// built is the folder of the programs that all tests install.
var built string

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// remember looks at all that the tests install, which other processes read: so
// go test knows that a result from before a change is an old one. It counts only
// while tests run.
var remember = sync.OnceFunc(func() {
	filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "bin") {
			return fs.SkipDir
		}
		os.Stat(path)
		return nil
	})
})

// binaries builds the three programs once, and names their folder to the scripts.
func binaries(t *testing.T) (env []string) {
	t.Helper()
	if built == "" {
		bin, err := os.MkdirTemp("", "heddle-install-")
		if err != nil {
			t.Fatal(err)
		}
		built = bin
		build(t, bin)
	}
	return []string{"HEDDLE_BIN=" + built}
}

// build builds the programs as the Makefile does.
func build(t *testing.T, bin string) {
	t.Helper()
	must(t, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "./cmd/...")
}

// TestInstall installs twice under both prefixes into a tree that has some of
// the folders, and uninstalls.
func TestInstall(t *testing.T) {
	env := binaries(t)
	for prefix, etc := range map[string]string{"/usr": "/usr/lib", "/usr/local": "/etc"} {
		t.Run(strings.Trim(prefix, "/"), func(t *testing.T) {
			dest := t.TempDir()
			must(t, nil, "mkdir", "-p", dest+"/opt", dest+"/usr/share/man", dest+"/usr/lib/systemd")
			before := files(t, dest)
			must(t, env, "packaging/install.sh", dest, prefix)
			first := files(t, dest)
			for _, want := range installed(prefix, etc) {
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
			runs(t, dest+prefix, dest+etc+"/systemd/system/heddled.service", prefix)
			completes(t, dest+prefix)
			gone(t, env, dest, prefix, before)
		})
	}
}

// installed are files that an installation has.
func installed(prefix, etc string) []string {
	zsh := map[string]string{"/usr": "vendor-completions", "/usr/local": "site-functions"}[prefix]
	all := []string{
		prefix + "/bin/heddle -rwxr-xr-x", prefix + "/bin/heddled -rwxr-xr-x",
		prefix + "/lib/cni/heddle-cni -rwxr-xr-x", "/opt/cni/bin/heddle-cni Lrwxrwxrwx", prefix + "/libexec/netavark/heddle Lrwxrwxrwx", prefix + "/lib/heddle/purge -rwxr-xr-x",
		"/etc/heddle/heddled.yaml -rw-------", // it may hold a token
	}
	for _, f := range []string{
		etc + "/systemd/system/heddled.service", etc + "/systemd/system/heddled-vpc@.service", etc + "/NetworkManager/conf.d/90-heddle.conf",
		prefix + "/lib/systemd/network/00-heddle.network", prefix + "/lib/systemd/network/00-heddle.link", prefix + "/lib/udev/rules.d/00-heddle.rules",
		prefix + "/share/heddle/cni/10-heddle.conflist", prefix + "/share/heddle/cni/examples/heddle-routed.conflist",
		prefix + "/share/heddle/networkd/heddle.conf",
		prefix + "/share/man/man1/heddle.1.gz", prefix + "/share/man/man1/heddle-attach.1.gz", prefix + "/share/man/man8/heddled.8.gz",
		prefix + "/share/bash-completion/completions/heddle", prefix + "/share/zsh/" + zsh + "/_heddle",
		prefix + "/share/fish/vendor_completions.d/heddle.fish",
	} {
		all = append(all, f+" -rw-r--r--")
	}
	return all
}

// again installs over an installation with a configuration of its own and a
// file of an older version.
func again(t *testing.T, env []string, dest, prefix string, first []string) {
	t.Helper()
	config, list := dest+"/etc/heddle/heddled.yaml", dest+prefix+"/share/heddle/files"
	old := dest + prefix + "/share/man/man1/heddle-old.1.gz"
	for path, text := range map[string]string{config: "name: mine\n", old: "old"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must(t, nil, "sh", "-c", "echo "+prefix+"/share/man/man1/heddle-old.1.gz >>"+list)
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
		if out := must(t, []string{"MANWIDTH=80", "LC_ALL=C"}, "man", "--warnings", "-l", root+"/share/man/man8/heddled.8.gz"); !strings.Contains(out, "--socket-group") || strings.Contains(out, "warning:") {
			t.Errorf("heddled(8): %s", out)
		}
	}
}

// completes lets each shell there is read its completion.
func completes(t *testing.T, root string) {
	t.Helper()
	for shell, pattern := range map[string]string{"bash": "bash-completion/completions/heddle", "zsh": "zsh/*/_heddle", "fish": "fish/vendor_completions.d/heddle.fish"} {
		found, err := filepath.Glob(root + "/share/" + pattern)
		if err != nil || len(found) != 1 {
			t.Errorf("completion for %s: %v %v", shell, found, err)
		} else if _, err := exec.LookPath(shell); err == nil {
			must(t, nil, shell, "-n", found[0])
		}
	}
}

// gone uninstalls, then purges: first the configuration stays, then nothing but
// what was there before.
func gone(t *testing.T, env []string, dest, prefix string, before []string) {
	t.Helper()
	must(t, nil, "packaging/uninstall.sh", dest, prefix)
	want := append([]string{"/etc drwxr-xr-x", "/etc/heddle drwxr-xr-x", "/etc/heddle/heddled.yaml -rw-------"}, before...)
	if left := files(t, dest); !slices.Equal(left, want) {
		t.Errorf("left: %v", left)
	}
	must(t, nil, "rm", "-r", dest+"/etc")
	must(t, env, "packaging/install.sh", dest, prefix)
	must(t, nil, "mkdir", "-p", dest+"/var/lib/heddle/cni-queue")
	must(t, []string{"PURGE=1"}, "packaging/uninstall.sh", dest, prefix)
	must(t, nil, "rmdir", dest+"/var/lib", dest+"/var")
	if left := files(t, dest); !slices.Equal(left, before) {
		t.Errorf("left: %v\nbefore: %v", left, before)
	}
}

// TestMake installs and uninstalls by the guide's commands.
func TestMake(t *testing.T) {
	if testing.Short() {
		t.Skip("builds")
	}
	need(t, "make")
	dest, blocks := t.TempDir(), guide(t)
	env := []string{"DESTDIR=" + dest, "PREFIX=/usr/local"} // not what the tests were started with
	must(t, env, "sh", "-ec", blocks["source"])
	if out := must(t, nil, dest+"/usr/local/bin/heddle", "version"); !strings.HasPrefix(out, "heddle ") {
		t.Errorf("heddle version: %s", out)
	}
	must(t, env, "sh", "-ec", blocks["uninstall"])
	for _, f := range files(t, dest) {
		if !strings.HasPrefix(f, "/etc") {
			t.Errorf("left: %s", f)
		}
	}
	must(t, append(env, "PURGE=1"), "make", "install", "uninstall")
	if left := files(t, dest); !slices.Equal(left, []string{"/etc drwxr-xr-x"}) { // made by the first installation
		t.Errorf("left: %v", left)
	}
}
