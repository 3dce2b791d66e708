package program_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/protocol"
)

// TestRedisUnread: redis ends a connection on which answers are not read, before they fill its memory, whether its owner has the password or not.
func TestRedisUnread(t *testing.T) {
	r := startWith(t, "redis", program.Setting{})
	const answers = 64
	person := r.approach(t)
	fmt.Fprintf(person, "AUTH %s %s\r\n%s", protocol.RedisUser, r.Protocol.(protocol.Redis).Password,
		strings.Repeat(fmt.Sprintf("GETRANGE %s 0 %d\r\n", protocol.RedisContent, 1<<20-1), answers))
	if n, err := io.Copy(io.Discard, person); n >= answers<<20 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a person: %d bytes, %v", n, err)
	}
	const most = 64 << 20
	var err error
	sent, stranger, requests := 0, r.approach(t), strings.Repeat("PING\r\n", 10_000)
	for n := 0; err == nil && sent < most; sent += n {
		n, err = io.WriteString(stranger, requests)
	}
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a stranger: %d bytes of requests were taken, %v", sent, err)
	}
	if err := r.answers(); err != nil {
		t.Error(err)
	}
}
