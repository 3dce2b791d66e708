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
	if err := y.Try(t, name); err != nil {
		t.Fatal(err)
	}
}

// Try is Type for a guide that may fail; the error has the block and what it printed.
func (y Typist) Try(t testing.TB, name string) error {
	t.Helper()
	text, err := os.ReadFile("../../docs/guides/" + name)
	if err != nil {
		return err
	}
	work := t.TempDir()
	blocks := strings.Split(string(text), "\n```sh\n")[1:]
	for _, rest := range blocks {
		block, _, closed := strings.Cut(rest, "\n```\n")
		if !closed {
			return fmt.Errorf("%s: a block has no end", name)
		}
		if err := y.run(work, block); err != nil {
			return fmt.Errorf("%s:\n%s\n%w", name, block, err)
		}
	}
	if len(blocks) < y.Fewest {
		return fmt.Errorf("%s has %d blocks only", name, len(blocks))
	}
	return nil
}

func (y Typist) run(work, block string) error {
	script := filepath.Join(work, "block")
	if err := os.WriteFile(script, []byte(block), 0o600); err != nil {
		return err
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
		return fmt.Errorf("%w\n%s", err, out)
	}
	for _, want := range strings.Split(block, "\n#> ")[1:] {
		if want, _, _ = strings.Cut(want, "\n"); !strings.Contains(out, want) {
			return fmt.Errorf("it promises %q:\n%s", want, out)
		}
	}
	return nil
}
