package bench

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// listening returns when the server's port is bound in its place, as the
// kernel's own socket table there tells.
func listening(ctx context.Context, s Setting, p Pair, server *child, proto string) error {
	port := int(p.PortBase + s.Slot)
	for {
		if server.ended() {
			return fail("start", server.what, fmt.Errorf("ended early; it said: %s", server.out.tail()))
		}
		// One of the two files is missing where a family is disabled.
		tables, err := s.spawn.run(ctx, p.Server, "sh", "-c", "cat /proc/net/"+proto+" /proc/net/"+proto+"6 2>/dev/null; true")
		if err != nil {
			return err
		}
		if bound(tables, port, proto == "tcp") {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fail("start", server.what, fmt.Errorf("port %d/%s not open in time; it said: %s", port, proto, server.out.tail()))
		}
	}
}

// bound looks for a local port in the text of /proc/net/{udp,tcp}; of TCP
// sockets only listening ones (state 0A) count.
func bound(table string, port int, listen bool) bool {
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
