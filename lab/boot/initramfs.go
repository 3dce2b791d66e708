package boot

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ModulesList is where an initramfs lists the paths of its module files, in load
// order, one a line.
const ModulesList = "/modules.list"

// WriteInitramfs writes an initramfs with this program as /init, and with modules and their
// dependencies.
func (k Kernel) WriteInitramfs(path string, modules []string) (err error) {
	self, err := os.ReadFile(Self)
	if err != nil {
		return fmt.Errorf("read the running program: %w", err)
	}
	loaded, err := k.Modules(modules)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create the initramfs: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	a := NewArchive(f)
	a.File("/init", 0o755, self)
	var list strings.Builder
	for _, m := range loaded {
		name := "/" + m.Name + ".ko"
		a.File(name, 0o644, m.Data)
		fmt.Fprintln(&list, name)
	}
	a.File(ModulesList, 0o644, []byte(list.String()))
	if err := a.Close(); err != nil {
		return fmt.Errorf("write the initramfs %s: %w: check the free space", path, err)
	}
	return nil
}

// IndexModules runs depmod once, so that modprobe(8) finds the kernel's modules.
func (k Kernel) IndexModules() error {
	releases, err := filepath.Glob(filepath.Join(k.Dir, "lib/modules/*"))
	if err != nil || len(releases) != 1 {
		return fmt.Errorf("%d kernels below %s: remove the folder and run `%s`", len(releases), k.Dir, FetchCommand)
	}
	if _, err := os.Stat(filepath.Join(releases[0], "modules.devname")); err == nil { // written last
		return nil
	}
	if out, err := exec.Command("depmod", "-b", k.Dir, filepath.Base(releases[0])).CombinedOutput(); err != nil {
		return fmt.Errorf("depmod: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
