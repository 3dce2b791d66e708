package vm

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"strings"
)

// The file types of a cpio entry's mode.
const (
	modeDir  = 0o040755
	modeLink = 0o120777
	modeFile = 0o100000
)

// archive writes a cpio archive in the "newc" form, the one the kernel unpacks as an initramfs.
// Parent folders are made as needed and a name already there is left alone. The first error sticks and is returned by close.
type archive struct {
	w     *bufio.Writer
	inode int
	names map[string]bool
	err   error
}

func newArchive(w io.Writer) *archive {
	return &archive{w: bufio.NewWriterSize(w, 1<<20), names: map[string]bool{".": true, "": true}}
}

func (a *archive) dir(name string) { a.add(name, modeDir, nil) }

func (a *archive) file(name string, perm uint32, data []byte) { a.add(name, modeFile|perm, data) }

func (a *archive) link(name, target string) { a.add(name, modeLink, []byte(target)) }

// close writes the end of the archive.
func (a *archive) close() error {
	a.put("TRAILER!!!", 0, nil)
	if a.err == nil {
		a.err = a.w.Flush()
	}
	return a.err
}

// add puts an entry, its parents first. Names are absolute or relative to the root, which is the same.
func (a *archive) add(name string, mode uint32, data []byte) {
	name = strings.TrimPrefix(path.Clean(name), "/")
	if a.names[name] {
		return
	}
	a.add(path.Dir(name), modeDir, nil)
	a.names[name] = true
	a.put(name, mode, data)
}

func (a *archive) put(name string, mode uint32, data []byte) {
	a.inode++
	// inode, mode, uid, gid, links, time, size, device (2), special device (2), length of the name, checksum
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		a.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
	a.write([]byte(header + name + "\x00"))
	a.write(data)
}

// write puts b, filled up to a multiple of four bytes.
func (a *archive) write(b []byte) {
	for _, part := range [][]byte{b, make([]byte, -len(b)&3)} {
		if a.err == nil {
			_, a.err = a.w.Write(part)
		}
	}
}
