package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle"
)

// sysctlPath finds a setting's file; a name must stay below /proc/sys.
func sysctlPath(name string) (string, error) {
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("%q is no setting", name)
	}
	return filepath.Join("/proc/sys", name), nil
}

// readSysctl reads a setting of the calling thread's namespace; /proc/sys/net
// shows each reader its own.
func readSysctl(name string) (string, error) {
	path, err := sysctlPath(name)
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(path)
	return words(string(b)), err
}

// words makes values comparable: several numbers are separated by tabs in some
// settings and by blanks in what people write.
func words(s string) string { return strings.Join(strings.Fields(s), " ") }

func writeSysctl(name, value string) error {
	path, err := sysctlPath(name)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(value)
	return err
}

// sysctls makes the settings, in one visit to the namespace.
func (a *attempt) sysctls(s *site, wanted []heddle.Sysctl) error {
	if len(wanted) == 0 {
		return nil
	}
	return s.ns.Do(func() error {
		for _, c := range wanted {
			if err := a.step("make", c.Key(), func() error { return a.sysctl(s, c) }); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *attempt) sysctl(s *site, c heddle.Sysctl) error {
	old, err := readSysctl(c.Name)
	if err != nil || old == words(c.Value) {
		return err
	}
	if err := writeSysctl(c.Name, c.Value); err != nil {
		return err
	}
	a.did(c.Key(), func() error {
		return s.ns.Do(func() error { return writeSysctl(c.Name, old) })
	})
	return nil
}
