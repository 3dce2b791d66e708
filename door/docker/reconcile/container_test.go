package reconcile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestNames: what dockerd says of a container's names becomes names that all take, or is left out.
func TestNames(t *testing.T) {
	const id = "0123456789abcdef"
	many := make([]string, heddle.MaxAliases+3)
	for i := range many {
		many[i] = fmt.Sprintf("a%02d", i)
	}
	for what, c := range map[string]struct {
		name    string
		aliases []string
		want    string
		leftOut string
	}{
		"Compose":             {"/app_web_1", []string{"web", id[:12]}, "app_web_1 web", ""},
		"capitals":            {"/Web", []string{"WEB", "Api"}, "web api", ""},
		"twice":               {"/web", []string{"b", "a", "b"}, "web a b", ""},
		"dots":                {"/web.shop", []string{"a.b"}, "web.shop a.b", ""},
		"another's short ID":  {"/web", []string{"0123456789ff"}, "web 0123456789ff", ""},
		"no name":             {"", nil, "", ""},
		"a name that is none": {"/web-", []string{"web"}, " web", "begins or ends a label"},
		"an address":          {"/web", []string{"10.0.0.1", "ok"}, "web ok", "is an address"},
		"several":             {"/web", []string{"*", "two words", "ok", "\x1b[2J\n", "", strings.Repeat("x", 1000)}, "web ok", "and 4 more"},
		"a hostile name":      {"/\x1b[2J\n", nil, "", "has characters that no name has"},
		"too many":            {"/web", many, "web " + strings.Join(many[:heddle.MaxAliases], " "), "and 2 more"},
	} {
		name, aliases, err := container{ID: id, Name: c.name}.names(connection{Aliases: c.aliases})
		if got := strings.Join(slices.Concat([]string{name}, aliases), " "); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
		if (err == nil) != (c.leftOut == "") || err != nil && !strings.Contains(err.Error(), c.leftOut) {
			t.Errorf("%s: left out: %v", what, err)
		}
		if err != nil && (len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\x1b\n")) {
			t.Errorf("%s: %q is not for a terminal", what, err)
		}
	}
}

// TestAskedFromHost reads what engines note in a container's resolv.conf.
func TestAskedFromHost(t *testing.T) {
	for text, want := range map[string]bool{
		"nameserver 127.0.0.11\noptions ndots:0\n":                                        false,
		"nameserver 127.0.0.11\n# ExtServers: [host(192.0.2.53) host(2001:db8::53)]\n":    true,
		"nameserver 127.0.0.11\n# ExtServers: [host(192.0.2.53) 192.0.2.54]\n":            false,
		"nameserver 127.0.0.11\n# ExtServers: [192.0.2.53]\n# Overrides: [nameservers]\n": false,
	} {
		path := filepath.Join(t.TempDir(), "resolv.conf")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := (container{ResolvConfPath: path}).askedFromHost(); (err != nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := (container{ResolvConfPath: "/none"}).askedFromHost(); err != nil {
		t.Errorf("no file: %v", err)
	}
}
