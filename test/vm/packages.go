package vm

import (
	"os/exec"
	"strings"
	"testing"
)

// Packages is the folder with a set of Debian's packages that tests run and nobody installs (see fetch.sh), such as "podman". It is for
// packages in folders beside this one. What is not in the cache yet is fetched, which is impossible in a cell: 'make packages' comes first.
func Packages(t testing.TB, set string) string {
	t.Helper()
	var said strings.Builder
	fetch := exec.Command("../vm/fetch.sh", set)
	fetch.Stderr = &said
	folder, err := fetch.Output()
	if err != nil {
		t.Fatalf("no %s of Debian's in the cache: run 'make packages': %v\n%s", set, err, said.String())
	}
	return strings.TrimSpace(string(folder))
}
