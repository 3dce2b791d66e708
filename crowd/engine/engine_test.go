package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// TestMain gives the tests a /run of their own.
func TestMain(m *testing.M) { os.Exit(cell.Main(m)) }

// TestHome: a crowd's folder is a dead one's when its lock is free, and not before.
func TestHome(t *testing.T) {
	cell.Need(t)
	h, err := take("docker")
	if err != nil {
		t.Fatal(err)
	}
	if _, is := dead(h.crowd); is {
		t.Error("it is taken for a dead one's while it is held")
	}
	if _, err := take("docker"); err == nil {
		t.Error("a process has two")
	}
	h.held.Close()
	if d, is := dead(h.crowd); !is || d.as != "docker" || d.crowd != h.crowd {
		t.Errorf("nobody holds it, and it is %+v, %v", d, is)
	}
	if err := h.leave(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(homes); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of all is left: %v", err)
	}
	for _, name := range []string{"4711.new", "x", "", "4711"} {
		if _, is := dead(name); is {
			t.Errorf("%q is taken for a dead crowd's", name)
		}
	}
}

// TestAwait: a container waits until nobody holds the crowd's lock.
func TestAwait(t *testing.T) {
	cell.Need(t)
	held, err := os.Create("/awaited")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove("/awaited")
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		_, err := await("awaited", unix.LOCK_SH)
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("it has not waited: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	held.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
	if _, err := await("nothing-of-that-name", unix.LOCK_SH); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it waits for nothing: %v", err)
	}
}

// TestImage: the root of containers has this program, and a place for the gate.
func TestImage(t *testing.T) {
	var archive bytes.Buffer
	if err := writeImage(&archive); err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for r := tar.NewReader(&archive); ; {
		head, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		found[head.Name] = true
		if content, err := io.ReadAll(r); head.Name == inside && (err != nil || !bytes.Equal(content, own) || head.Mode&0o111 == 0) {
			t.Errorf("%s has %d bytes of %d, mode %o: %v", head.Name, len(content), len(own), head.Mode, err)
		}
	}
	if !found[inside] || !found[gate+"/"] || len(found) != 2 {
		t.Errorf("it has %v", found)
	}
	if err := checkStatic(); err != nil {
		t.Error(err)
	}
}

// TestMissing: a client that is not installed is refused with its package.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, as := range Words()[1:] {
		_, err := New(context.Background(), Setting{As: as, Network: "web"})
		if !errors.Is(err, heddle.NoTool.Sentinel()) || !strings.Contains(err.Error(), "Debian: ") {
			t.Errorf("%s: %v", as, err)
		}
	}
	if _, err := New(context.Background(), Setting{As: "jail"}); !errors.Is(err, heddle.BadArgument.Sentinel()) || !strings.Contains(err.Error(), "podman") {
		t.Error(err)
	}
}

// TestOwnWords: an error has the client's own words, in a line, and none of its advice to read the help.
func TestOwnWords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "client")
	script := "#!/bin/sh\ncat\necho; echo 'docker: it is in use' >&2; echo >&2; echo \"Run 'docker run --help' for more\" >&2\nexit $1\n"
	if err := os.WriteFile(file, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	input := func(w io.Writer) error { _, err := io.WriteString(w, "warning\nid"); return err }
	for code, want := range map[string]string{"0": "<nil>", "125": "docker: it is in use"} {
		said, err := command{program: file, args: []string{code}, input: input}.run(t.Context())
		if fmt.Sprint(err) != want || line(said) != "id" {
			t.Errorf("it says %q, %v", said, err)
		}
	}
	if said, err := (command{program: file + "s"}).run(t.Context()); err == nil {
		t.Errorf("a program that is not there says %q", said)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := (command{program: file, args: []string{"0"}, input: input}).run(ended); err != nil {
		t.Errorf("it is broken off: %v", err)
	}
}
