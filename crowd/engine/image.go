package engine

import (
	"archive/tar"
	"debug/elf"
	"fmt"
	"io"
	"os"
)

// own is this program, of which containers consist: it is static, so it needs nothing else.
const own = "/proc/self/exe"

// inside is where it is in containers.
const inside = "heddle"

// checkStatic refuses a program that needs libraries, which containers do not have.
func checkStatic() error {
	f, err := elf.Open(own)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return fmt.Errorf("this heddle is not static, and would not run in a container: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// writeImage writes the root of containers as an archive: this program, and a place for the gate.
func writeImage(to io.Writer) error {
	f, err := os.Open(own)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	w := tar.NewWriter(to)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: gate + "/", Mode: 0o755}); err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: inside, Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	if _, err := io.Copy(w, f); err != nil {
		return err
	}
	return w.Close()
}
