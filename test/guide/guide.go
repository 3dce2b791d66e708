// Package guide runs the shell blocks of a guide, one after the other.
package guide

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
)

// Typist types guides.
type Typist struct {
	// Fewest is the least number of blocks: if a guide is read wrongly, there are none.
	Fewest int
	// Limit is the time limit for one block.
	Limit time.Duration
	// Path is a folder that comes first in PATH.
	Path string
	// Unset names environment variables that a reader does not have.
	Unset []string
}

// Type runs the blocks of docs/guides/NAME, in a folder of their own, each until its
// first command that fails. The text of lines that begin with "#> " must be in their block's
// output.
func (y Typist) Type(t testing.TB, name string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/guides/" + name)
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	blocks := strings.Split(string(text), "\n```sh\n")[1:]
	for _, rest := range blocks {
		block, _, closed := strings.Cut(rest, "\n```\n")
		if !closed {
			t.Fatalf("%s: a block has no end", name)
		}
		y.run(t, name, work, block)
	}
	if len(blocks) < y.Fewest {
		t.Errorf("%s has %d blocks only", name, len(blocks))
	}
}

func (y Typist) run(t testing.TB, name, work, block string) {
	t.Helper()
	script := filepath.Join(work, "block")
	if err := os.WriteFile(script, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	prepare := "cd " + work
	if len(y.Unset) > 0 {
		prepare += "; unset " + strings.Join(y.Unset, " ")
	}
	if y.Path != "" {
		prepare += fmt.Sprintf("; PATH=%s:$PATH; export PATH", y.Path)
	}
	out, err := cell.TrySh("%s; timeout -k 5 %d sh -e %s", prepare, int(y.Limit.Seconds()), script)
	if err != nil {
		t.Fatalf("%s:\n%s\n%v\n%s", name, block, err, out)
	}
	for _, want := range strings.Split(block, "\n#> ")[1:] {
		if want, _, _ = strings.Cut(want, "\n"); !strings.Contains(out, want) {
			t.Errorf("%s promises %q:\n%s\n%s", name, want, block, out)
		}
	}
}
