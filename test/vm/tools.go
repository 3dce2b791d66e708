package vm

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-network/heddle/lab/boot"
)

// toolFolders are where a guest looks for commands, in order.
var toolFolders = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// libraryFolders are where Debian's dynamic loader looks when it has no cache file, as in the guest.
var libraryFolders = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}

// companions are folders that a tool needs besides its libraries, by the prefix of its name.
var companions = []struct{ prefix, dir string }{
	{"iptables", "/usr/lib/x86_64-linux-gnu/xtables"},
	{"ip6tables", "/usr/lib/x86_64-linux-gnu/xtables"},
	{"tc", "/usr/lib/tc"},
}

// DefaultTools returns the paths of the commands Heddle's tests use, as far as this machine has them.
func DefaultTools() []string {
	var paths []string
	for _, name := range strings.Fields(`
		ip bridge tc nft sysctl nsenter ping conntrack ethtool setpriv sh bash cat sleep grep sed sort
		iptables iptables-save iptables-restore iptables-nft iptables-legacy
		ip6tables ip6tables-save ip6tables-restore ip6tables-nft ip6tables-legacy`) {
		for _, dir := range toolFolders {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(path); err == nil {
				paths = append(paths, path)
				break
			}
		}
	}
	return paths
}

// closure collects files of this machine together with everything the dynamic loader needs to run them.
type closure struct {
	files []string          // real paths
	links map[string]string // symbolic link to real path
}

// toolClosure returns the closure of the given programs.
func toolClosure(tools []string) (*closure, error) {
	c := &closure{links: map[string]string{}}
	for _, tool := range tools {
		if err := c.addTool(tool); err != nil {
			return nil, fmt.Errorf("put tool %s into the guest: %w", tool, err)
		}
	}
	return c, nil
}

func (c *closure) addTool(tool string) error {
	if _, err := loaderNeeds(tool); err != nil {
		return fmt.Errorf("%w: give the path of an installed amd64 program", err)
	}
	for _, extra := range companions {
		if !strings.HasPrefix(filepath.Base(tool), extra.prefix) {
			continue
		}
		if err := c.addFolder(extra.dir); err != nil {
			return err
		}
	}
	return c.add(tool)
}

// addFolder adds the files of a folder, if there is one.
func (c *closure) addFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if err := c.add(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// add adds one file, the target if it is a link, and the libraries it needs.
func (c *closure) add(path string) error {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return err
	}
	path = filepath.Join(dir, filepath.Base(path))
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if real != path {
		c.links[path] = real
	}
	if slices.Contains(c.files, real) {
		return nil
	}
	c.files = append(c.files, real)
	needs, err := loaderNeeds(real)
	var plain *elf.FormatError
	if errors.As(err, &plain) { // a data file
		return nil
	}
	for _, library := range needs {
		if err := c.add(library); err != nil {
			return err
		}
	}
	return err
}

// loaderNeeds returns the paths of a program's loader and of the libraries it names itself.
func loaderNeeds(path string) ([]string, error) {
	object, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	defer object.Close()
	var needs []string
	if loader := boot.Interpreter(object); loader != "" {
		needs = append(needs, loader)
	}
	names, err := object.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("read the libraries %s needs: %w", path, err)
	}
	for _, name := range names {
		library, err := findLibrary(name)
		if err != nil {
			return nil, fmt.Errorf("find library %s of %s: %w", name, path, err)
		}
		needs = append(needs, library)
	}
	return needs, nil
}

func findLibrary(name string) (string, error) {
	for _, dir := range libraryFolders {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("it is in none of %s: install it there", strings.Join(libraryFolders, ", "))
}
