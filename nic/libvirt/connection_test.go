package libvirt

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// answerThrice answers each request three times: with the request, as a reply without an error.
func answerThrice(conn net.Conn) {
	defer conn.Close()
	for {
		length := make([]byte, 4)
		if _, err := io.ReadFull(conn, length); err != nil {
			return
		}
		rest := make([]byte, binary.BigEndian.Uint32(length)-4)
		if _, err := io.ReadFull(conn, rest); err != nil {
			return
		}
		binary.BigEndian.PutUint32(rest[12:], 1) // the type: a reply (libvirt's src/rpc/virnetprotocol.x)
		for range 3 {
			conn.Write(append(slices.Clone(length), rest...))
		}
	}
}

// TestStrangeSockets: who is no libvirtd, or answers nothing, keeps nobody longer than the context.
func TestStrangeSockets(t *testing.T) {
	folder := t.TempDir()
	for name, says := range map[string]string{"closed": "", "words": "220 mail.example ready\r\n", "short": "\x00\x00\x00\x04\x00\x00", "still": "",
		"half": "\x00\x00\x00\x1c\x20", "none": "", "thrice": ""} {
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
					switch name {
					case "thrice":
						go answerThrice(conn)
					case "closed":
						conn.Close()
					default:
						conn.Write([]byte(says))
						defer conn.Close()
					}
				}
			}()
		}
		start := time.Now()
		limit := 10 * time.Second
		if name == "still" || name == "half" || name == "thrice" {
			limit = 200 * time.Millisecond
		}
		_, err := NewDomain(socket, "any").Plugged(within(t, limit))
		if refused(t, err, heddle.NotPlugged); time.Since(start) > 10*time.Second {
			t.Errorf("%s: after %v: %v", name, time.Since(start), err)
		}
		// Three answers to one question reach who asked, or are never read: the library's goroutines decide.
		if ended := errors.Is(err, context.DeadlineExceeded); name != "thrice" && ended != (name == "still" || name == "half") {
			t.Errorf("%s: %v", name, err)
		}
		if strange := strings.Contains(err.Error(), errStrange.Error()); strange != (name == "words" || name == "short") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
