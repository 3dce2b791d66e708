package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// awaitListening waits until the server's port is bound, according to the socket table of the
// server's network namespace.
func awaitListening(ctx context.Context, s Setting, p Pair, server *child, proto string) error {
	port := int(p.port(s.Slot))
	longest := 100 * time.Millisecond
	if server.at.Far {
		longest = time.Second // to read the table, a program is started there
	}
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, longest) {
		if server.ended() {
			return fail("start", server.what, fmt.Errorf("ended early; it said: %s", server.out.tail()))
		}
		if isBound(server.sockets(ctx, proto), port, proto == "tcp") {
			return nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fail("start", server.what, fmt.Errorf("port %d/%s not open in time; it said: %s", port, proto, server.out.tail()))
		}
	}
}

// sockets is the text of the socket table where the program runs. Until its process has executed
// the program, it may still be in another namespace.
func (c *child) sockets(ctx context.Context, proto string) string {
	if c.at.Far {
		return remoteSocketTable(ctx, c.at, proto)
	}
	if !c.became() {
		return ""
	}
	return socketTable(c.cmd.Process.Pid, proto)
}

// remoteSocketTable is the socket table of an endpoint on another machine, for both address families.
func remoteSocketTable(ctx context.Context, at Endpoint, proto string) string {
	cmd, err := at.Command(ctx, "cat", "/proc/net/"+proto, "/proc/net/"+proto+"6")
	if err != nil {
		return ""
	}
	out, _ := cmd.Output() // one may be disabled
	return string(out)
}

// became reports whether the process has executed the program, and is no longer one of the
// programs that start it.
func (c *child) became() bool {
	const commLength = 15 // TASK_COMM_LEN without the final zero
	return firstLine(fmt.Sprintf("/proc/%d/comm", c.cmd.Process.Pid)) == c.program[:min(len(c.program), commLength)]
}

// socketTable is the socket table for both address families; one of them may be disabled.
func socketTable(pid int, proto string) string {
	four, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, proto))
	six, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s6", pid, proto))
	return string(four) + string(six)
}

// isBound looks for a local port in the text of /proc/net/{udp,tcp}. Of TCP sockets only listening
// ones (state 0A) count.
func isBound(table string, port int, listen bool) bool {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 4 || (listen && f[3] != "0A") {
			continue
		}
		_, hex, ok := strings.Cut(f[1], ":")
		n, err := strconv.ParseUint(hex, 16, 16)
		if ok && err == nil && int(n) == port {
			return true
		}
	}
	return false
}
