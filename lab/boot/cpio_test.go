package boot

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sample is an archive with every kind of entry, and the lines that say what it holds.
func sample(t *testing.T) (archived []byte, want []string) {
	t.Helper()
	var b bytes.Buffer
	a := NewArchive(&b)
	a.File("/init", 0o755, []byte("abcde"))
	a.File("usr/share/doc/empty", 0o644, nil)
	a.Link("/usr/bin/tool", "/usr/sbin/tool")
	a.Dir("usr/bin") // there already
	a.File("/init", 0o644, []byte("again"))
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), []string{
		`100755 init "abcde"`,
		`40755 usr ""`,
		`40755 usr/share ""`,
		`40755 usr/share/doc ""`,
		`100644 usr/share/doc/empty ""`,
		`40755 usr/bin ""`,
		`120777 usr/bin/tool "/usr/sbin/tool"`,
	}
}

// parseArchive reads a newc archive back: "mode name content" for every entry.
func parseArchive(b []byte) (entries []string, err error) {
	const headerLen = 110
	aligned := func(n int) int { return (n + 3) &^ 3 }
	inodes := map[string]bool{}
	for len(b) >= headerLen {
		field := func(i int) int {
			n, e := strconv.ParseUint(string(b[6+8*i:14+8*i]), 16, 32)
			err = errors.Join(err, e)
			return int(n)
		}
		mode, size, nameLen := field(1), field(6), field(11)
		if string(b[:6]) != "070701" || err != nil || len(b) < aligned(headerLen+nameLen)+aligned(size) {
			return entries, fmt.Errorf("bad header %q (%v)", b[:headerLen], err)
		}
		if inode := string(b[6:14]); inodes[inode] {
			return entries, fmt.Errorf("inode %s used twice: the kernel would make a hard link", inode)
		} else {
			inodes[inode] = true
		}
		name := string(b[headerLen : headerLen+nameLen-1])
		b = b[aligned(headerLen+nameLen):]
		if name == "TRAILER!!!" {
			return entries, nil
		}
		entries = append(entries, fmt.Sprintf("%o %s %q", mode, name, b[:size]))
		b = b[aligned(size):]
	}
	return entries, errors.New("no trailer")
}

func TestArchiveParsesBack(t *testing.T) {
	archived, want := sample(t)
	got, err := parseArchive(archived)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestArchiveListedByCpio(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Skip("no cpio: install the package cpio")
	}
	archived, _ := sample(t)
	cmd := exec.Command("cpio", "-it", "--quiet")
	cmd.Stdin = bytes.NewReader(archived)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("cpio -it: %v\n%s", err, out)
	}
	want := "init\nusr\nusr/share\nusr/share/doc\nusr/share/doc/empty\nusr/bin\nusr/bin/tool\n"
	if string(out) != want {
		t.Errorf("cpio lists\n%s\nwant\n%s", out, want)
	}
}

type fullDisk struct{ left int }

func (f *fullDisk) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(b), nil
}

func TestArchiveReportsWriteError(t *testing.T) {
	a := NewArchive(&fullDisk{left: 1 << 20})
	a.File("big", 0o644, make([]byte, 3<<20))
	a.File("small", 0o644, nil)
	if err := a.Close(); err == nil || err.Error() != "disk full" {
		t.Errorf("Close returned %v, want the write's error", err)
	}
}
