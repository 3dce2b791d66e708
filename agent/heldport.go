package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle"
)

// heldFor reports whether the program that listens on a port holds it for the container itself.
// Podman's monitor conmon does this: it binds the published ports of its container, so that no
// other program takes them, and it has the container's ID in its command line.
func heldFor(container string, p heddle.PortMapping) bool {
	listening := listeners(p)
	if len(listening) == 0 {
		return false
	}
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	held := map[string]bool{}
	for _, path := range commands {
		line, err := os.ReadFile(path)
		if err != nil || !namesExactly(line, container) {
			continue
		}
		descriptors, _ := filepath.Glob(filepath.Dir(path) + "/fd/*")
		for _, d := range descriptors {
			to, _ := os.Readlink(d)
			held[to] = true
		}
	}
	for _, inode := range listening {
		if !held["socket:["+inode+"]"] {
			return false
		}
	}
	return true
}

// namesExactly reports whether one of a command line's words is the name.
func namesExactly(line []byte, name string) bool {
	for word := range bytes.SplitSeq(line, []byte{0}) {
		if string(word) == name {
			return true
		}
	}
	return false
}

// listeners returns the inodes of the sockets that listen on the port, on any address of the host
// (proc_pid_net(5)).
func listeners(p heddle.PortMapping) (inodes []string) {
	state := map[string]string{"tcp": "0A", "udp": "07"}[p.Protocol]
	suffix := fmt.Sprintf(":%04X", p.HostPort)
	for _, version := range []string{"", "6"} {
		table, _ := os.ReadFile("/proc/net/" + p.Protocol + version) // the file for IPv6 may not exist
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line)
			if len(f) > 9 && strings.HasSuffix(f[1], suffix) && f[3] == state {
				inodes = append(inodes, f[9])
			}
		}
	}
	return inodes
}
