package docker

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// optional are the programs that the image has if the machine has them.
var optional = []string{"iperf3", "redis-server", "redis-cli"}

var packing sync.Mutex

// Image imports the image "box" into the host's dockerd: busybox under all its
// names, and the optional programs with their libraries.
func (h *Host) Image(t testing.TB) {
	t.Helper()
	archive, err := pack(filepath.Dir(cell.Build(t, "heddle")))
	if err != nil {
		t.Errorf("make the image: %v", err)
		return
	}
	if out, err := h.TryDocker("import", archive, "box"); err != nil {
		t.Errorf("import the image on %s: %v\n%s", h.Name(), err, out)
	}
}

// NeedInImage skips the test if the image lacks a program.
func NeedInImage(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed", p)
		}
	}
}

// pack makes the image's archive, once, beside the programs that are tested, and
// goes with them. The hosts see that folder; their /run is their own.
func pack(dir string) (string, error) {
	packing.Lock()
	defer packing.Unlock()
	root, archive := filepath.Join(dir, "box"), filepath.Join(dir, "box.tar")
	if _, err := os.Stat(archive); err == nil {
		return archive, nil
	}
	script := fmt.Sprintf(`mkdir -p %[1]s/bin %[1]s/etc %[1]s/tmp %[1]s/root %[1]s/lib
echo root:x:0:0:root:/root:/bin/sh >%[1]s/etc/passwd
echo root:x:0: >%[1]s/etc/group
cp "$(command -v busybox)" %[1]s/bin/busybox
busybox --list | while read -r name; do [ "$name" = busybox ] || ln -s busybox %[1]s/bin/"$name"; done
`, root)
	for _, p := range optional {
		script += fmt.Sprintf(`if program=$(command -v %[2]s); then
	rm -f %[1]s/bin/%[2]s; cp -L "$program" %[1]s/bin/%[2]s
	ldd "$program" | grep -o '/[^ ]*' | while read -r library; do mkdir -p %[1]s"$(dirname "$library")"; cp -L "$library" %[1]s"$library"; done
fi
`, root, p)
	}
	out, err := cell.TrySh("%s", script+fmt.Sprintf("tar -C %s -cf %s .", root, archive))
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return archive, os.RemoveAll(root)
}
