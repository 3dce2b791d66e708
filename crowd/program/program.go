// Package program knows the programs that may answer for a crowd's services: how each is found, configured, and talked to.
package program

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/protocol"
)

// Installed is a program of this host.
type Installed struct {
	// Path has no links, As is how it is called: redis-server and others are several programs in one file.
	Name, Path, As, Version string
	kind
}

// Setting is what a program is to be.
type Setting struct {
	// Service is the service's name in scenarios, Host that in DNS.
	Service, Host string
	// Addrs are where it listens, and Admits are whom it answers.
	Addrs, Admits []netip.Addr
	// Upstreams are where a name server asks in turn.
	Upstreams []netip.Addr
	// Connections is how many it must bear at once, and Files how many a process may have open at most; 0 is not known.
	Connections, Files int64
	// Seed is that of its contents.
	Seed uint64
	// Authority signs its certificate; nil: it is without TLS.
	Authority *Authority
	// HTTP is the version that people speak: 2, 3, or 0 for 1.1.
	HTTP int

	path string // the program's
}

// kind is what heddle knows of a program.
type kind interface {
	// debian is the package that has the program, and file the program.
	debian() (pack, file string)
	// version reads what the program says when it is called with the arguments.
	version() (args []string, read func(said string) string)
	// configured returns the program with its files, but for its path, and how users talk to it.
	configured(Setting) (container.Program, protocol.Protocol, error)
}

func kindOf(name string) kind {
	switch name {
	case "caddy":
		return caddy{}
	case "dovecot":
		return dovecot{}
	case "nginx":
		return nginx{}
	case "openssh":
		return openssh{}
	case "redis":
		return redis{}
	case "unbound":
		return unbound{}
	}
	return nil
}

// folders are where programs are that root runs, also if its PATH lacks them.
var folders = []string{"/usr/local/sbin", "/usr/sbin", "/sbin"}

// Find finds a program that a scenario names.
func Find(name string) (Installed, error) {
	k := kindOf(name)
	if k == nil {
		return Installed{}, heddle.Errorf(heddle.BadArgument, "find program", name, "heddle does not know it", "name one that the guide lists")
	}
	pack, file := k.debian()
	path, err := exec.LookPath(file)
	for _, folder := range folders {
		if other, none := exec.LookPath(filepath.Join(folder, file)); err != nil && none == nil {
			path, err = other, nil
		}
	}
	as := path
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return Installed{}, heddle.Wrap(heddle.NoTool, "find program", name, err,
			"install it (Debian: "+pack+"), or take 'by: "+name+"' out of the scenario")
	}
	if !container.Shows(path) {
		return Installed{}, heddle.Errorf(heddle.NoTool, "find program", name, "it is "+path+", which no container sees",
			"install it below /usr (Debian: "+pack+")")
	}
	args, read := k.version()
	said, err := (&exec.Cmd{Path: path, Args: append([]string{as}, args...)}).CombinedOutput()
	if err != nil {
		return Installed{}, heddle.Wrap(heddle.NoTool, "ask for the version of", path,
			fmt.Errorf("%w: %s", err, strings.TrimSpace(string(said))), "install it anew, or a later version (Debian: "+pack+")")
	}
	found := Installed{name, path, as, cmp.Or(read(string(said)), "of an unknown version"), k}
	if picky, is := k.(interface{ unfit(version string) string }); is {
		if why := picky.unfit(found.Version); why != "" {
			return Installed{}, heddle.Errorf(heddle.NoTool, "take program", name, why, "install it as the guide says (Debian: "+pack+"), or take 'by: "+name+"' out of the scenario")
		}
	}
	return found, nil
}

// Prepare returns the program as it is to run, and how users talk to it.
func (i Installed) Prepare(s Setting) (container.Program, protocol.Protocol, error) {
	s.path = i.Path
	p, speaks, err := i.configured(s)
	if p.Path == "" { // or a shell that starts it
		p.Path, p.As = i.Path, i.As
	}
	return p, speaks, err
}

// text is a file with these words.
func text(name, words string) container.File {
	return container.File{Name: name, Write: func(w io.Writer) error { _, err := w.Write([]byte(words)); return err }}
}
