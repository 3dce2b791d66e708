package program_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/protocol"
)

// TestEnds: over each protocol, a request that is under way when patience or the program ends says so as sockets do.
func TestEnds(t *testing.T) {
	authority, err := program.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]struct {
		by string
		program.Setting
	}{
		"http": {"nginx", program.Setting{}}, "https": {"nginx", program.Setting{Authority: authority}},
		"http2": {"nginx", program.Setting{Authority: authority, HTTP2: true}},
		"redis": {"redis", program.Setting{}}, "redis, TLS": {"redis", program.Setting{Authority: authority}},
		"openssh": {"openssh", program.Setting{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := startWith(t, of.by, of.Setting)
			endless := protocol.Request{Site: 1, Receives: 16 << 30}
			tired := r.begin(t).Conn
			time.AfterFunc(100*time.Millisecond, func() { tired.SetDeadline(time.Unix(1, 0)) })
			if err := r.Ask(tired, endless); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("patience: %v", err)
			}
			cut := r.begin(t).Conn
			time.AfterFunc(100*time.Millisecond, r.Close)
			if err := r.Ask(cut, endless); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("it ended: %v", err)
			} else {
				t.Log(err)
			}
		})
	}
}
