package libvirt

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// TestStrangeSockets: who is no libvirtd, or answers nothing, keeps nobody longer than the context.
func TestStrangeSockets(t *testing.T) {
	folder := t.TempDir()
	for name, says := range map[string]string{"closed": "", "words": "220 mail.example ready\r\n", "short": "\x00\x00\x00\x04\x00\x00", "still": "",
		"half": "\x00\x00\x00\x1c\x20", "none": ""} {
		socket := filepath.Join(folder, name)
		if name != "none" {
			l, err := net.Listen("unix", socket)
			must(t, err)
			defer l.Close()
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					conn.Write([]byte(says))
					if name == "closed" {
						conn.Close()
					} else {
						defer conn.Close()
					}
				}
			}()
		}
		start := time.Now()
		_, err := NewDomain(socket, "any").Plugged(within(t, 200*time.Millisecond))
		if refused(t, err, heddle.NotPlugged); time.Since(start) > 10*time.Second {
			t.Errorf("%s: after %v: %v", name, time.Since(start), err)
		}
		if ended := errors.Is(err, context.DeadlineExceeded); ended != (name == "still" || name == "half") {
			t.Errorf("%s: %v", name, err)
		}
		if strange := strings.Contains(err.Error(), errStrange.Error()); strange != (name == "words" || name == "short") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
