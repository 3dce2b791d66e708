package install_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/soak"
)

// records are what dpkg, apt and passwd keep about any package that was there.
var records = regexp.MustCompile(`(^|/| )\./(` + strings.Join([]string{
	`var/lib/(dpkg|apt)/`, `var/cache/(apt|ldconfig|debconf)/`, `var/log/(apt/|dpkg\.log|alternatives\.log)`, `etc/ld\.so\.cache`,
	`etc/(group|gshadow|passwd|shadow|subuid|subgid)-`, `run/adduser$`, `run/(xtables\.lock|mount)`,
	`run/netns$`, // ip's own, of "ip netns add"
	`etc/hosts$`, // of netbase, which apt recommends beside ip
}, "|") + `)`)

// TestBareDebian installs the package on the smallest Debian there is, attaches
// a container by the guide's commands within a minute (longer on a machine that has
// more to do than processors), and purges: nothing is
// left of files and kernel objects.
func TestBareDebian(t *testing.T) {
	soak.Turn(t, 1)
	if testing.Short() {
		t.Skip("installs packages")
	}
	need(t, "ip", "nft", "nsenter")
	tree, path, dir := debian(t, "bare"), deb(t, ""), t.TempDir()
	blocks := guide(t)
	for _, name := range []string{"deb", "by-hand", "first", "purge"} {
		if err := os.WriteFile(filepath.Join(dir, name+".sh"), []byte(blocks[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "layer"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, nil, "unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc", "test/install/testdata/bare.sh", tree, path, dir)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 75 {
		t.Skip("no Debian mirror answers")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	seconds, load := number(t, dir, "seconds"), number(t, dir, "load")
	if limit := 60 * max(1, load/float64(runtime.NumCPU())); seconds >= limit { // a minute of processors that we share with others
		t.Errorf("from apt install to the first ping: %.1f s, and %.1f are the limit at a load of %.1f", seconds, limit, load)
	}
	t.Logf("from apt install to the first ping: %.1f s", seconds)
	if between := read(t, dir, "kernel.between"); !strings.Contains(between, "inet heddle") || between == read(t, dir, "kernel.before") {
		t.Error("the comparison would not see our objects:", between)
	}
	if before, after := read(t, dir, "kernel.before"), read(t, dir, "kernel.after"); before != after {
		t.Errorf("kernel before:\n%s\nafter the purge:\n%s", before, after)
	}
	if in := read(t, dir, "container"); strings.Contains(in, "eth0") {
		t.Error("left in the container:", in)
	}
	compare(t, read(t, dir, "files.before"), read(t, dir, "files.after"))
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// number reads the first one of a file.
func number(t *testing.T, dir, name string) float64 {
	t.Helper()
	first, _, _ := strings.Cut(strings.TrimSpace(read(t, dir, name)), " ")
	n, err := strconv.ParseFloat(first, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// compare compares two lists of files, without the package manager's records.
func compare(t *testing.T, before, after string) {
	t.Helper()
	a, b := lines(before), lines(after)
	if len(a) < 1000 {
		t.Fatalf("a Debian has more than %d files", len(a))
	}
	differ := func(name string, from, than []string) {
		for _, line := range from {
			if _, found := slices.BinarySearch(than, line); !found && !records.MatchString(line) {
				t.Errorf("%s: %s", name, line)
			}
		}
	}
	slices.Sort(a)
	slices.Sort(b)
	differ("lost", a, b)
	differ("left", b, a)
}
