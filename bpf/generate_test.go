package bpf_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// TestGenerate: the committed objects are those of the sources.
func TestGenerate(t *testing.T) {
	for _, tool := range []string{"clang-14", "llvm-strip-14", "go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s, to build the programs again", tool)
		}
	}
	if _, err := os.Stat("/usr/include/bpf/bpf_helpers.h"); err != nil {
		t.Skip("needs libbpf-dev, to build the programs again")
	}
	for source, stem := range map[string]string{"bpf.go": "fast", "steer.go": "steer"} {
		generate(t, source, stem)
	}
}

func generate(t *testing.T, source, stem string) {
	text, err := os.ReadFile(source)
	cell.Must(t, err)
	_, line, _ := strings.Cut(string(text), "//go:generate ")
	line, _, _ = strings.Cut(line, "\n")
	dir := t.TempDir()
	args := strings.Fields(strings.Replace(line, "bpf2go", "bpf2go -output-dir "+dir, 1))
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "GOPACKAGE=bpf")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	for _, name := range []string{stem + "_bpfel.o", stem + "_bpfel.go"} {
		fresh, err := os.ReadFile(filepath.Join(dir, name))
		cell.Must(t, err)
		committed, err := os.ReadFile(name)
		cell.Must(t, err)
		if !bytes.Equal(fresh, committed) {
			t.Errorf("%s is not what its sources make: run go generate ./bpf", name)
		}
	}
}
