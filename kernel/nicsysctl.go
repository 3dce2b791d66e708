package kernel

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/heddle-network/heddle"
)

// settingFolders have one folder for each interface, and one with the defaults.
var settingFolders = []string{"net/ipv4/conf", "net/ipv4/neigh", "net/ipv6/conf", "net/ipv6/neigh"}

// nicSysctls reads the interface's own settings that differ from the defaults. An interface that
// comes into a namespace gets the defaults.
func (s *session) nicSysctls(name string) ([]heddle.Sysctl, error) {
	var all []heddle.Sysctl
	err := s.ns.Do(func() error {
		files := s.openSettings()
		defer files.close()
		for _, folder := range settingFolders {
			some, err := files.special(folder, name)
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
		return nil
	})
	return all, err
}

func (f settings) special(folder, name string) ([]heddle.Sysctl, error) {
	path, err := f.path(filepath.Join(folder, name))
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // there is no IPv6, or not on this interface
	}
	var all []heddle.Sysctl
	for _, e := range entries {
		own := filepath.Join(folder, name, e.Name())
		have, err := f.read(own)
		if err != nil {
			continue // stable_secret cannot be read before it is set
		}
		usual, err := f.read(filepath.Join(folder, "default", e.Name()))
		if (err != nil || have != usual) && !derived[e.Name()] {
			all = append(all, heddle.Sysctl{Name: own, Value: have})
		}
	}
	// setting a secret changes the mode, so the mode must come later
	slices.SortStableFunc(all, func(a, b heddle.Sysctl) int { return last(a.Name) - last(b.Name) })
	return all, err
}

// derived settings follow from other settings: IPv6's MTU from the interface's MTU, and times in
// other units.
var derived = map[string]bool{"mtu": true, "base_reachable_time": true, "retrans_time": true}

func last(name string) int {
	if strings.HasSuffix(name, "/addr_gen_mode") {
		return 1
	}
	return 0
}

// putSysctls restores the interface's own settings: those in was, and the defaults for all others.
func (s *session) putSysctls(name string, was []heddle.Sysctl) error {
	return s.ns.Do(func() error {
		files := s.openSettings()
		defer files.close()
		given := map[string]bool{}
		for _, c := range was {
			given[c.Name] = true
		}
		var errs []error
		for _, folder := range settingFolders {
			odd, err := files.special(folder, name)
			errs = append(errs, err)
			for _, c := range odd {
				usual, err := files.read(filepath.Join(folder, "default", filepath.Base(c.Name)))
				if !given[c.Name] && err == nil {
					errs = append(errs, refused("make", c.Key(), files.write(c.Name, usual)))
				}
			}
		}
		for _, c := range was {
			have, err := files.read(c.Name)
			if err == nil && have == c.Value || errors.Is(err, os.ErrNotExist) {
				continue
			}
			errs = append(errs, refused("make", c.Key(), files.write(c.Name, c.Value)))
		}
		return errors.Join(errs...)
	})
}
