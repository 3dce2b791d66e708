package boot

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

// Archive writes a cpio archive in the "newc" form, which the kernel unpacks as an initramfs.
// Parent folders are made as needed, and a name that exists already is left as it is. Close returns
// the first error.
type Archive struct {
	w     *bufio.Writer
	inode int
	names map[string]bool
	err   error
}

// NewArchive begins an archive.
func NewArchive(w io.Writer) *Archive {
	return &Archive{w: bufio.NewWriterSize(w, 1<<20), names: map[string]bool{".": true, "": true}}
}

// Dir adds a folder.
func (a *Archive) Dir(name string) { a.add(name, modeDir, nil) }

// File adds a file.
func (a *Archive) File(name string, perm uint32, data []byte) { a.add(name, modeFile|perm, data) }

// Link adds a symbolic link.
func (a *Archive) Link(name, target string) { a.add(name, modeLink, []byte(target)) }

// Close writes the end of the archive.
func (a *Archive) Close() error {
	a.put("TRAILER!!!", 0, nil)
	if a.err == nil {
		a.err = a.w.Flush()
	}
	return a.err
}

// add writes an entry, after its parent folders. Absolute names and names relative to the root mean
// the same.
func (a *Archive) add(name string, mode uint32, data []byte) {
	name = strings.TrimPrefix(path.Clean(name), "/")
	if a.names[name] {
		return
	}
	a.add(path.Dir(name), modeDir, nil)
	a.names[name] = true
	a.put(name, mode, data)
}

func (a *Archive) put(name string, mode uint32, data []byte) {
	a.inode++
	// inode, mode, uid, gid, links, time, size, device (2), special device (2), length of the name, checksum
	header := fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		a.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
	a.write([]byte(header + name + "\x00"))
	a.write(data)
}

// write writes b, padded to a multiple of four bytes.
func (a *Archive) write(b []byte) {
	for _, part := range [][]byte{b, make([]byte, -len(b)&3)} {
		if a.err == nil {
			_, a.err = a.w.Write(part)
		}
	}
}
