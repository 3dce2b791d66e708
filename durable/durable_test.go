package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle/durable"
)

// TestStream: what cannot be written leaves the file as it was, and nothing beside it.
func TestStream(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := durable.Replace(file, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := durable.Stream(file, 0o644, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if text, _ := os.ReadFile(file); !errors.Is(err, broken) || string(text) != "secret" {
		t.Errorf("%v, and the file is %q", err, text)
	}
	if is, err := os.Stat(file); err != nil || is.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", is.Mode(), err)
	}
	err = durable.Stream(file, 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, "whole")
		return err
	})
	if text, _ := os.ReadFile(file); err != nil || string(text) != "whole" {
		t.Errorf("%v, and the file is %q", err, text)
	}
	if left, _ := filepath.Glob(file + ".*"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
