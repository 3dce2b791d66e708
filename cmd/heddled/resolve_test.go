package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestBoundedLog: the resolver's log does not grow without end, and keeps its last lines.
func TestBoundedLog(t *testing.T) {
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := append(bytes.Repeat([]byte("x"), 999), '\n')
	for range 3 * maxLog / len(line) {
		if n, err := (boundedFile{f}).Write(line); err != nil || n != len(line) {
			t.Fatal(n, err)
		}
	}
	if info, err := f.Stat(); err != nil || info.Size() > maxLog+int64(len(line)) || info.Size() == 0 {
		t.Errorf("the log has %d bytes, %v", info.Size(), err)
	}
}

// TestResolveHidden: the resolver's command is for the agent alone.
func TestResolveHidden(t *testing.T) {
	var out bytes.Buffer
	cmd := newCommand(nil)
	cmd.SetArgs([]string{"--help"})
	cmd.SetOut(&out)
	if err := cmd.Execute(); err != nil || bytes.Contains(out.Bytes(), []byte("resolve ")) || bytes.Contains(out.Bytes(), []byte("Available Commands")) {
		t.Errorf("%v\n%s", err, &out)
	}
	cmd = newCommand(nil)
	cmd.SetArgs([]string{"resolve"})
	if err := cmd.Execute(); !errors.Is(err, heddle.BadArgument.Sentinel()) {
		t.Errorf("without --dir: %v", err)
	}
}
