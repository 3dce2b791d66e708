package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestTokens gives the token in every way, where others can read it and where they
// cannot.
func TestTokens(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	strange := write("strange", "secret", 0o600)
	if err := os.Chown(strange, 12345, 0); err != nil && os.Geteuid() == 0 {
		t.Fatal(err)
	}
	through := func(path string) string { // a descriptor of the file
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return fmt.Sprint(f.Fd())
	}
	pipe := func() string {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		w.WriteString("secret")
		w.Close()
		return fmt.Sprint(r.Fd())
	}
	const in = "join: 192.0.2.1\n"
	own, open, group := write("own", "secret", 0o600), write("open", "secret", 0o644), write("group", "secret", 0o640)
	for what, c := range map[string]struct {
		args []string
		code heddle.Code
	}{
		"on the command line":        {[]string{"--join", "192.0.2.1", "--token", "secret"}, heddle.OpenSecret},
		"file":                       {[]string{"--join", "192.0.2.1", "--token-file", own}, ""},
		"file for all":               {[]string{"--join", "192.0.2.1", "--token-file", open}, heddle.OpenSecret},
		"file for a group":           {[]string{"--join", "192.0.2.1", "--token-file", group}, heddle.OpenSecret},
		"no file":                    {[]string{"--join", "192.0.2.1", "--token-file", dir + "/none"}, heddle.BadArgument},
		"empty file":                 {[]string{"--join", "192.0.2.1", "--token-file", write("empty", "", 0o600)}, heddle.BadArgument},
		"descriptor of a pipe":       {[]string{"--join", "192.0.2.1", "--token-fd", pipe()}, ""},
		"descriptor of a file":       {[]string{"--join", "192.0.2.1", "--token-fd", through(own)}, ""},
		"descriptor, file for all":   {[]string{"--join", "192.0.2.1", "--token-fd", through(open)}, heddle.OpenSecret},
		"no descriptor":              {[]string{"--join", "192.0.2.1", "--token-fd", "999"}, heddle.BadArgument},
		"two ways":                   {[]string{"--join", "192.0.2.1", "--token-file", own, "--token-fd", through(own)}, heddle.BadArgument},
		"configuration":              {[]string{"--config", write("c1", in+"token: secret\n", 0o600)}, ""},
		"configuration for all":      {[]string{"--config", write("c2", in+"token: secret\n", 0o644)}, heddle.OpenSecret},
		"configuration with a file":  {[]string{"--config", write("c3", in+"tokenFile: "+own+"\n", 0o644)}, ""},
		"configuration, file of all": {[]string{"--config", write("c4", in+"tokenFile: "+open+"\n", 0o644)}, heddle.OpenSecret},
		"flag over configuration":    {[]string{"--config", write("c5", in+"token: other\n", 0o644), "--token-file", own}, ""},
		"another user's":             {[]string{"--join", "192.0.2.1", "--token-file", strange}, heddle.OpenSecret},
	} {
		t.Run(what, func(t *testing.T) {
			if os.Geteuid() != 0 && what == "another user's" {
				t.Skip("needs root, to give a file away")
			}
			got, err := parsed(append(c.args, "--state-dir", dir)...)
			if c.code != "" && !errors.Is(err, c.code.Sentinel()) || c.code == "" && (err != nil || got.Token != "secret") {
				t.Errorf("token %q, %v", got.Token, err)
			}
		})
	}
	// a host that has joined starts, whatever became of the token
	if err := os.MkdirAll(dir+"/cluster", 0o700); err != nil {
		t.Fatal(err)
	}
	write("cluster/host.json", "{}", 0o600)
	for _, args := range [][]string{{"--join", "192.0.2.1", "--token-file", open}, {"--config", dir + "/c2"}, {"--join", "192.0.2.1", "--token-file", dir + "/none"}} {
		if got, err := parsed(append(args, "--state-dir", dir)...); err != nil || got.Token != "" || got.tokenError == nil {
			t.Errorf("%v: token %q, %v", args, got.Token, err)
		}
	}
}
