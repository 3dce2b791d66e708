package main

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/door/client"
)

// TestJoinWords: they name the agent beside the program that was called, the file, and how many hosts
// may use them.
func TestJoinWords(t *testing.T) {
	token := client.Token{Token: "secret-words", Name: "t-1", Uses: 2, Join: []netip.Addr{netip.MustParseAddr("192.0.2.1")}}
	file := filepath.Join(t.TempDir(), "join.token")
	for program, want := range map[string]string{"heddle": "heddled", "bin/heddle": "bin/heddled", "./heddle": "./heddled", "/usr/bin/heddle": "/usr/bin/heddled"} {
		s, out := screen(t)
		s.program = program
		if err := s.writeTokenFile(file, token); err != nil {
			t.Fatal(err)
		}
		if words := "on each of the 2 new hosts, as root, with a copy of the token's file: " + want + " --join 192.0.2.1 --token-file " + file + "\n"; !strings.Contains(out.String(), words) {
			t.Errorf("%s: %s", program, out)
		}
		if strings.Contains(out.String(), token.Token) {
			t.Error("the token is shown")
		}
	}
}
