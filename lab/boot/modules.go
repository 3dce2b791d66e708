package boot

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Module is one kernel module, ready to load.
type Module struct {
	Name string
	Data []byte // the object file without its signature
}

// Modules reads the named modules and their dependencies from an unpacked kernel package, in the
// order to load them. A name that is not a module of this kernel (built in, or unknown) is left
// out.
func (k Kernel) Modules(names []string) ([]Module, error) {
	paths, err := modulePaths(filepath.Join(k.Dir, "lib/modules"))
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	order, err := loadOrder(names, func(name string) ([]byte, error) {
		b, info, err := readModule(paths[name])
		data[name] = b
		return info, err
	})
	if err != nil {
		return nil, err
	}
	modules := make([]Module, len(order))
	for i, name := range order {
		modules[i] = Module{name, data[name]}
	}
	return modules, nil
}

// modulePaths maps the names of all modules below a folder to their files.
func modulePaths(root string) (map[string]string, error) {
	paths := map[string]string{}
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(filepath.Base(path), ".ko"); ok {
			paths[ModuleName(name)] = path
		}
		return err
	})
	if err == nil && len(paths) == 0 {
		err = errors.New("no *.ko file there")
	}
	if err != nil {
		return nil, fmt.Errorf("list the kernel modules below %s: %w: remove the folder and run `%s`", root, err, FetchCommand)
	}
	return paths, nil
}

// loadOrder returns the names and their dependencies, each after its own dependencies. The function
// info returns a module's .modinfo section, or fs.ErrNotExist if there is no such module.
func loadOrder(names []string, info func(name string) ([]byte, error)) ([]string, error) {
	var order []string
	seen := map[string]bool{}
	var visit func(name string) error
	visit = func(name string) error {
		name = ModuleName(name)
		if seen[name] {
			return nil
		}
		seen[name] = true
		section, err := info(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read kernel module %s: %w", name, err)
		}
		for _, d := range dependencies(section) {
			if err := visit(d); err != nil {
				return err
			}
		}
		order = append(order, name)
		return nil
	}
	for _, name := range names {
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return order, nil
}

// dependencies reads the modules to load first from a .modinfo section: "depends=a,b" and
// "softdep=pre: c d post: e".
func dependencies(modinfo []byte) []string {
	var names []string
	for entry := range strings.SplitSeq(string(modinfo), "\x00") {
		if list, ok := strings.CutPrefix(entry, "depends="); ok {
			names = append(names, strings.FieldsFunc(list, func(r rune) bool { return r == ',' })...)
		}
		if list, ok := strings.CutPrefix(entry, "softdep="); ok {
			_, pre, _ := strings.Cut(list, "pre:")
			pre, _, _ = strings.Cut(pre, "post:")
			names = append(names, strings.Fields(pre)...)
		}
	}
	return names
}

// readModule returns a module without its signature, and its .modinfo section. An empty path is
// fs.ErrNotExist.
func readModule(path string) (data, info []byte, err error) {
	if data, err = os.ReadFile(path); err != nil {
		return nil, nil, err
	}
	data = cutSignature(data)
	object, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	section := object.Section(".modinfo")
	if section == nil {
		return nil, nil, fmt.Errorf("%s: no .modinfo section", path)
	}
	info, err = section.Data()
	return data, info, err
}

// cutSignature removes the signature at the end of a module: on an emulated processor its check
// takes longer than loading. The end consists of the signature, a struct module_signature (12
// bytes, of which the last four are the signature's length), and a marker.
func cutSignature(b []byte) []byte {
	const header = 12
	signed, ok := bytes.CutSuffix(b, []byte("~Module signature appended~\n"))
	if !ok || len(signed) < header {
		return b
	}
	tail := header + int(binary.BigEndian.Uint32(signed[len(signed)-4:]))
	if tail > len(signed) {
		return b
	}
	return signed[:len(signed)-tail]
}

// ModuleName writes a module's name as the kernel does, with underscores for dashes.
func ModuleName(s string) string { return strings.ReplaceAll(s, "-", "_") }
