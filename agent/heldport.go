package agent

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// heldFor reports whether the program that listens on a port of the request holds it for the
// container itself, so that no other program takes it. Podman's monitor conmon does this, which has
// the container's ID in its command line; and so does Podman, before there is a monitor.
func heldFor(req heddle.AttachRequest, p heddle.PortMapping) bool {
	listening := listeners(p)
	if len(listening) == 0 {
		return false
	}
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	held := map[string]bool{}
	for _, path := range commands {
		line, err := os.ReadFile(path)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || !namesExactly(line, req.ID.Container) && !slices.Contains(req.Holders, pid) {
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

// listeners returns the inodes of the sockets that listen on the port, on an address that the mapping
// needs (proc_pid_net(5)).
func listeners(p heddle.PortMapping) (inodes []string) {
	state := map[string]string{"tcp": "0A", "udp": "07"}[p.Protocol]
	suffix := fmt.Sprintf(":%04X", p.HostPort)
	for _, version := range []string{"", "6"} {
		table, _ := os.ReadFile("/proc/net/" + p.Protocol + version) // the file for IPv6 may not exist
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line)
			if len(f) < 10 || f[3] != state {
				continue
			}
			if address, ours := strings.CutSuffix(f[1], suffix); ours && inTheWay(p.HostIP, tableAddress(address)) {
				inodes = append(inodes, f[9])
			}
		}
	}
	return inodes
}

// inTheWay reports whether a socket on an address of the host keeps others from listening on the
// address of a mapping, which is invalid for all.
func inTheWay(of, socket netip.Addr) bool {
	if !of.IsValid() || of == socket {
		return true
	}
	return socket.IsUnspecified() && (socket.Is6() || of.Is4())
}

// tableAddress reads an address in the kernel's tables: words of four bytes in the host's order, in
// hexadecimal digits.
func tableAddress(digits string) netip.Addr {
	bytes, _ := hex.DecodeString(digits)
	for word := range slices.Chunk(bytes, 4) {
		if len(word) == 4 {
			binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
		}
	}
	a, _ := netip.AddrFromSlice(bytes)
	return a
}
