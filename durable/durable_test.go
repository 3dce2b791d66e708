package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle/durable"
)

// TestStream: what cannot be written leaves the file as it was, and nothing beside it. A file keeps its mode.
func TestStream(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := durable.Replace(file, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := durable.Stream(file, 0o644, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	has(t, file, "secret", 0o600)
	if err := durable.Stream(file, 0o644, writes("whole")); err != nil {
		t.Error(err)
	}
	has(t, file, "whole", 0o600)
	other := filepath.Join(dir, "other")
	if err := durable.Stream(other, 0o644, writes("new")); err != nil {
		t.Error(err)
	}
	has(t, other, "new", 0o644)
	if all, err := os.ReadDir(dir); err != nil || len(all) != 2 {
		t.Errorf("%v: the folder has %v", err, all)
	}
}

// TestStreamAlone: files beside it, and where links lead, are left alone; so is another caller's.
func TestStreamAlone(t *testing.T) {
	dir := t.TempDir()
	file, victim, linked := filepath.Join(dir, "file"), filepath.Join(dir, "victim"), filepath.Join(dir, "other.new")
	for _, own := range []string{file + ".new", victim} {
		if err := os.WriteFile(own, []byte("mine"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(victim, linked); err != nil {
		t.Fatal(err)
	}
	err := durable.Stream(file, 0o644, func(w io.Writer) error {
		_, _ = io.WriteString(w, "outer ")
		if err := durable.Stream(file, 0o644, writes("inner")); err != nil {
			return err
		}
		has(t, file, "inner", 0o644)
		return writes("whole")(w)
	})
	if err := errors.Join(err, durable.Stream(filepath.Join(dir, "other"), 0o644, writes("new"))); err != nil {
		t.Error(err)
	}
	has(t, file, "outer whole", 0o644)
	has(t, file+".new", "mine", 0o640)
	has(t, victim, "mine", 0o640)
}

func writes(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// has tells what a file has not, of a text and a mode.
func has(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	is, err := os.Stat(file)
	if err != nil {
		t.Error(err)
		return
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text || is.Mode().Perm() != mode {
		t.Errorf("%v: %s is %q with mode %v, and not %q with %v", err, file, got, is.Mode(), text, mode)
	}
}
