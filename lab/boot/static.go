package boot

import (
	"debug/elf"
	"fmt"
	"strings"
)

// Interpreter returns the dynamic loader a program asks for, empty for a static one.
func Interpreter(object *elf.File) string {
	for _, p := range object.Progs {
		if p.Type == elf.PT_INTERP {
			name := make([]byte, p.Filesz)
			if _, err := p.ReadAt(name, 0); err == nil {
				return strings.TrimRight(string(name), "\x00")
			}
		}
	}
	return ""
}

// CheckStatic returns an error unless the program at path runs without a dynamic loader, as /init must.
func CheckStatic(path string) error {
	object, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("read the program %s: %w", path, err)
	}
	defer object.Close()
	if loader := Interpreter(object); loader != "" {
		return fmt.Errorf("boot the program: it is dynamically linked (needs %s): build it with CGO_ENABLED=0", loader)
	}
	return nil
}
