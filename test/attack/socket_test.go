package attack_test

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// socketAttacks go for the agent's socket.
func socketAttacks() []doorAttack {
	return []doorAttack{
		{class: "socket", name: "sockets without a file", try: func(t *testing.T, h *hall) bool { return listens(t, h.Pid()) }, control: func(t *testing.T, _ *hall) bool {
			l, err := net.Listen("unix", "@somebody")
			cell.Must(t, err)
			defer l.Close()
			return listens(t, os.Getpid())
		}},
		{class: "socket", name: "root of a user namespace of its own", try: func(t *testing.T, h *hall) bool {
			cell.Must(t, os.Chmod(h.Socket, 0o666)) // the mode of a socket that was mounted into a container is not the point
			defer os.Chmod(h.Socket, 0o660)
			nobody := []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "unshare", "--user", "--map-root-user"}
			if out, err := exec.Command(nobody[0], append(nobody[1:], "true")...).CombinedOutput(); err != nil {
				t.Skipf("nobody may make user namespaces here: %v: %s", err, out)
			}
			return !contains(calls(t, h, nobody...), string(heddle.NoPermission))
		}, control: func(t *testing.T, h *hall) bool { return contains(calls(t, h, "unshare", "--net"), "healthy") }},
		{class: "parser", name: "200 requests that never end", try: func(t *testing.T, h *hall) bool {
			for range 200 {
				c, err := net.Dial("unix", h.Socket)
				cell.Must(t, err)
				defer c.Close()
				io.WriteString(c, "POST /v1/attach HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
			}
			began := time.Now()
			_, err := h.Status(ctx)
			return err != nil || time.Since(began) > time.Minute
		}},
		{class: "parser", name: "headers and a body without end", try: func(t *testing.T, h *hall) bool {
			line := strings.Repeat("x", 1<<20)
			return takesAll(t, h, "POST /v1/attach HTTP/1.1\r\nHost: x\r\nA: ", line) ||
				takesAll(t, h, "POST /v1/attach HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n{\"network\":\"", line)
		}},
	}
}

// listens reports whether a process listens at an abstract name or on TCP.
func listens(t *testing.T, pid int) bool {
	t.Helper()
	inodes := map[string]bool{}
	fds, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	cell.Must(t, err)
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:[") {
			inodes[strings.Trim(to, "socket:[]")] = true
		}
	}
	for file, at := range map[string]int{"unix": 6, "tcp": 9, "tcp6": 9, "udp": 9, "udp6": 9} {
		// by our own thread: the other's first one may be on a visit
		table, err := os.ReadFile("/proc/thread-self/net/" + file)
		if err != nil {
			continue // no IPv6, perhaps
		}
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line)
			if len(f) <= at || !inodes[f[at]] {
				continue
			}
			if file != "unix" || len(f) > 7 && strings.HasPrefix(f[7], "@") {
				t.Logf("%s: %s", file, line)
				return true
			}
		}
	}
	return false
}

// calls asks for the agent's status by way of a program.
func calls(t *testing.T, h *hall, by ...string) string {
	t.Helper()
	program := cell.Build(t, "heddle")
	cell.Must(t, os.Chmod(filepath.Dir(program), 0o755))
	cmd := exec.Command(by[0], append(by[1:], program, "--socket", h.Socket, "status")...)
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// takesAll reports whether the agent takes 32 MiB of a request without a word.
func takesAll(t *testing.T, h *hall, head, line string) bool {
	t.Helper()
	c, err := net.Dial("unix", h.Socket)
	cell.Must(t, err)
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, head); err != nil {
		return false
	}
	for range 32 {
		if _, err := io.WriteString(c, line); err != nil {
			return false
		}
	}
	return true
}

// portAttacks publish what belongs to others.
func portAttacks() []doorAttack {
	wish := func(ip string, port uint16, proto string) heddle.PortMapping {
		m := heddle.PortMapping{HostPort: port, ContainerPort: 22, Protocol: proto}
		if ip != "" {
			m.HostIP = netip.MustParseAddr(ip)
		}
		return m
	}
	publish := func(t *testing.T, h *hall, m heddle.PortMapping) error {
		path := cell.Netns(t, "thief")
		defer cell.TrySh("ip netns del thief")
		err := h.ask(idOf("thief"), path, m)
		if _, gone := h.Detach(ctx, idOf("thief")); gone != nil {
			t.Error(gone)
		}
		return err
	}
	return []doorAttack{
		{class: "port", name: "port of a service of the host", try: func(t *testing.T, h *hall) bool {
			l, err := net.Listen("tcp", "0.0.0.0:2222")
			cell.Must(t, err)
			defer l.Close()
			u, err := net.ListenPacket("udp", "127.0.0.1:2222")
			cell.Must(t, err)
			defer u.Close()
			for _, m := range []heddle.PortMapping{wish("", 2222, "tcp"), wish("127.0.0.1", 2222, "tcp"), wish("", 2222, "udp"), wish("127.0.0.1", 2222, "udp")} {
				if err := publish(t, h, m); !refusedAs(err, heddle.PortTaken) {
					t.Logf("%s: %v", m, err)
					return true
				}
			}
			return false
		}, control: func(t *testing.T, h *hall) bool { return publish(t, h, wish("", 2222, "tcp")) == nil }},
		{class: "port", name: "port of another container", try: func(t *testing.T, h *hall) bool {
			cell.Must(t, h.ask(idOf("owner"), cell.Netns(t, "owner"), wish("", 8080, "tcp")))
			defer h.detach(t, "owner")
			for _, m := range []heddle.PortMapping{wish("", 8080, "tcp"), wish("127.0.0.1", 8080, "tcp")} {
				if err := publish(t, h, m); !refusedAs(err, heddle.PortTaken) {
					t.Logf("%s: %v", m, err)
					return true
				}
			}
			return false
		}, control: func(t *testing.T, h *hall) bool { return publish(t, h, wish("", 8080, "tcp")) == nil }},
		{class: "port", name: "address that is not the host's", try: func(t *testing.T, h *hall) bool {
			return publish(t, h, wish("203.0.113.77", 8080, "tcp")) == nil
		}, control: func(t *testing.T, h *hall) bool { return publish(t, h, wish("127.0.0.1", 8080, "tcp")) == nil }},
	}
}
