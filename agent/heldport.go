package agent

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/kernel"
)

// heldSockets are the sockets that listen on ports of the host, and which of them are held for one
// container. They are read once, when a port of the request is first found taken.
type heldSockets struct {
	req heddle.AttachRequest
	// listening are the sockets by protocol and port; nil until they are read.
	listening map[string][]listener
	// held are those of programs that hold ports for the container, as links of /proc/PID/fd.
	held map[string]bool
}

// listener is a socket that listens, at an address of the host; an invalid one is all of both families.
type listener struct {
	addr  netip.Addr
	inode string
}

// holds reports whether the programs that listen on a port hold it for the container itself, so that
// no other program takes it. Podman's monitor conmon does this, which has the container's ID in its
// command line; and so does Podman, before there is a monitor.
func (h *heldSockets) holds(p heddle.PortMapping) bool {
	if h.listening == nil {
		h.listening, h.held = listeners(), socketsFor(h.req)
	}
	some := false
	for _, l := range h.listening[portKey(p)] {
		if !shareAddress(p.HostIP, l.addr) {
			continue
		}
		if !h.held["socket:["+l.inode+"]"] {
			return false
		}
		some = true
	}
	return some
}

// socketsFor are the sockets of the programs that hold ports for a container.
func socketsFor(req heddle.AttachRequest) map[string]bool {
	held := map[string]bool{}
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
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
	return held
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

// listeners are the sockets that listen, by protocol and port (proc_pid_net(5)).
func listeners() map[string][]listener {
	all, only6 := map[string][]listener{}, kernel.OnlyIPv6()
	for protocol, state := range map[string]string{"tcp": "0A", "udp": "07"} {
		for _, version := range []string{"", "6"} {
			table, _ := os.ReadFile("/proc/net/" + protocol + version) // the file for IPv6 may not exist
			for line := range strings.Lines(string(table)) {
				f := strings.Fields(line)
				if len(f) < 10 || f[3] != state {
					continue
				}
				address, digits, _ := strings.Cut(f[1], ":")
				port, err := strconv.ParseUint(digits, 16, 16)
				if err != nil {
					continue
				}
				inode, _ := strconv.ParseUint(f[9], 10, 32)
				key := portKey(heddle.PortMapping{Protocol: protocol, HostPort: uint16(port)})
				all[key] = append(all[key], listener{socketAddress(tableAddress(address), only6[uint32(inode)]), f[9]})
			}
		}
	}
	return all
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
