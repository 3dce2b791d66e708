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
		sends bool
	}{
		"http": {by: "nginx"}, "https": {by: "nginx", Setting: program.Setting{Authority: authority}},
		"http2": {by: "nginx", Setting: program.Setting{Authority: authority, HTTP: 2}},
		"http3": {by: "caddy", Setting: program.Setting{Authority: authority, HTTP: 3}},
		"redis": {by: "redis"}, "redis, TLS": {by: "redis", Setting: program.Setting{Authority: authority}},
		"openssh": {by: "openssh"},
		"imap":    {by: "dovecot"}, "imap, TLS": {by: "dovecot", Setting: program.Setting{Authority: authority}},
		"smtp": {by: "dovecot", sends: true}, "smtp, TLS": {by: "dovecot", Setting: program.Setting{Authority: authority}, sends: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := startWith(t, of.by, of.Setting)
			endless := protocol.Request{Site: 1, Receives: 16 << 30}
			if of.sends {
				r, endless = r.sending(), protocol.Request{Site: 1, Sends: 16 << 30}
			}
			tired := r.begin(t).Conn
			time.AfterFunc(100*time.Millisecond, func() { tired.SetDeadline(time.Unix(1, 0)) })
			if err := r.Ask(tired, endless); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("patience: %v", err)
			}
			if err := r.Ask(tired, endless); r.Streams() && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("patience, of a request that begins afterwards: %v", err)
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
