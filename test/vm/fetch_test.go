package vm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/lab/boot"
)

// write makes a file and its folders.
func write(t *testing.T, path, content string, perm os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), perm); err != nil {
		t.Fatal(err)
	}
}

// TestFetchMirror reads the mirror out of apt sources in both their forms.
func TestFetchMirror(t *testing.T) {
	const other = "Types: deb\nURIs: http://third.party/x\nSuites: stable\nComponents: main\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"deb822": {map[string]string{"sources.list.d/debian.sources": `Types: deb
# a comment
URIs: http://mirror.one/debian
Suites: bookworm bookworm-updates
Components: main non-free
`, "sources.list.d/a.sources": other}, "http://mirror.one/debian"},
		"deb822 disabled, continued, several": {map[string]string{"sources.list.d/debian.sources": `Enabled: no
Types: deb
URIs: http://off/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: http://source/debian
Suites: bookworm
Components: main

types: deb deb-src
uris:
 http://mirror.two/debian http://mirror.three/debian
suites: bookworm-updates
 bookworm
components: contrib
 main
`}, "http://mirror.two/debian"},
		"classic": {map[string]string{"sources.list": `# deb http://comment/debian bookworm main
deb cdrom:[Debian]/ bookworm main
deb-src http://source/debian bookworm main
deb http://security/debian-security bookworm-security main
deb [ arch=amd64 signed-by=/k.gpg ]	http://mirror.four/debian bookworm contrib main # tail
`}, "http://mirror.four/debian"},
		"list beside deb822":         {map[string]string{"sources.list.d/x.list": "deb mirror+file:/etc/apt/mirrors bookworm main\n", "sources.list.d/a.sources": other}, "mirror+file:/etc/apt/mirrors"},
		"only others":                {map[string]string{"sources.list.d/a.sources": other, "sources.list.d/b.list": "deb http://third.party/y bookworm stable\n"}, ""},
		"Debian's own before others": {map[string]string{"sources.list.d/a.list": "deb http://third.party bookworm main\n", "sources.list": "deb http://mirror.five bookworm main\n"}, "http://mirror.five"},
	} {
		t.Run(name, func(t *testing.T) {
			etc := t.TempDir()
			for file, content := range c.files {
				write(t, filepath.Join(etc, file), content, 0o644)
			}
			out, err := exec.Command("sh", "fetch.sh", "mirror", etc).CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
				t.Errorf("fetch.sh mirror prints %q (%v), want %q", got, err, c.want)
			}
		})
	}
}

// fetchWithoutApt runs fetch.sh on a cache of its own where apt-get fails, and returns its output.
func fetchWithoutApt(t *testing.T, cache string, args ...string) (string, error) {
	t.Helper()
	bin := t.TempDir()
	write(t, filepath.Join(bin, "apt-get"), "#!/bin/sh\necho apt-get called >&2\nexit 100\n", 0o755)
	cmd := exec.Command("sh", append([]string{"fetch.sh"}, args...)...)
	cmd.Env = append(os.Environ(), "HEDDLE_CACHE="+cache, "HEDDLE_DEBIAN_MIRROR=http://mirror.invalid", "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestFetchLeavesWhatIsThere(t *testing.T) {
	cache := t.TempDir()
	for _, v := range boot.Versions() {
		write(t, filepath.Join(cache, "vm", v, "vmlinux"), "kernel", 0o644)
	}
	out, err := fetchWithoutApt(t, cache)
	if err != nil || strings.Contains(out, "apt-get called") {
		t.Errorf("with every version of Versions in the cache, fetch.sh ends with %v:\n%s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "vm", ".fetch*")); len(left) > 0 {
		t.Errorf("fetch.sh leaves %q", left)
	}
}

// TestFetchPackages: without a mirror that has the suite, the error says which one it was and what to set.
func TestFetchPackages(t *testing.T) {
	for what, c := range map[string]struct{ suite, folder string }{
		"podman": {"trixie", "trixie+podman+netavark+aardvark-dns+crun"},
		"dhcp":   {"bookworm", "bookworm+isc-dhcp-server+kea-dhcp4-server+kea-dhcp6-server"},
	} {
		cache := t.TempDir()
		out, err := fetchWithoutApt(t, cache, what)
		if err == nil || !strings.Contains(out, "package lists of "+c.suite+" from http://mirror.invalid") || !strings.Contains(out, "HEDDLE_DEBIAN_MIRROR to a mirror that has "+c.suite) {
			t.Errorf("fetch.sh %s ends with %v:\n%s", what, err, out)
		}
		if left, _ := filepath.Glob(filepath.Join(cache, "*", "*")); len(left) > 0 {
			t.Errorf("fetch.sh %s leaves %q", what, left)
		}
		folder := filepath.Join(cache, "packages", c.folder)
		write(t, filepath.Join(folder, "usr", "bin", "program"), "", 0o755)
		if out, err := fetchWithoutApt(t, cache, what); err != nil || strings.TrimSpace(out) != folder {
			t.Errorf("with the packages in the cache, fetch.sh %s ends with %v:\n%s", what, err, out)
		}
	}
}

func TestFetchFailureLeavesNothing(t *testing.T) {
	cache := t.TempDir()
	out, err := fetchWithoutApt(t, cache)
	if err == nil || !strings.Contains(out, "HEDDLE_DEBIAN_MIRROR") {
		t.Errorf("without package lists fetch.sh ends with %v:\n%s", err, out)
	}
	if entries, err := os.ReadDir(filepath.Join(cache, "vm")); err != nil || len(entries) > 0 {
		t.Errorf("the cache holds %v (%v), want nothing", entries, err)
	}
}
