package remote

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

func goodGrant() Grant {
	return Grant{Address: "[2001:db8::1]:7950", Fingerprint: strings.Repeat("0a", 32), Machine: "web.1", Secret: SecretText([SecretSize]byte{1, 2, 31: 3})}
}

func write(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "grant")
	if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Chmod(file, mode)); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestReadGrant: a grant is read as it was written, out of a file that nobody else can read.
func TestReadGrant(t *testing.T) {
	text, err := goodGrant().Text()
	if err != nil {
		t.Fatal(err)
	}
	g, err := ReadGrant(write(t, string(text), 0o600))
	if err != nil || g != goodGrant() {
		t.Error(g, err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o620} {
		if _, err := Open(write(t, string(text), mode)); !errors.Is(err, heddle.OpenSecret.Sentinel()) {
			t.Error(mode, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, heddle.BadArgument.Sentinel()) {
		t.Error(err)
	}
	if _, err := Open(write(t, string(text), 0o400)); err != nil {
		t.Error(err)
	}
}

// TestGrantRefused: a grant that was cut or changed is refused, and its secret is not told.
func TestGrantRefused(t *testing.T) {
	for what, change := range map[string]func(*Grant){
		"no machine":             func(g *Grant) { g.Machine = "" },
		"machine with a slash":   func(g *Grant) { g.Machine = "../a" },
		"no address":             func(g *Grant) { g.Address = "" },
		"name for an address":    func(g *Grant) { g.Address = "host:1" },
		"no port":                func(g *Grant) { g.Address = "192.0.2.1" },
		"any address":            func(g *Grant) { g.Address = "[::]:1" },
		"no fingerprint":         func(g *Grant) { g.Fingerprint = "" },
		"short fingerprint":      func(g *Grant) { g.Fingerprint = g.Fingerprint[2:] },
		"fingerprint in capital": func(g *Grant) { g.Fingerprint = strings.ToUpper(g.Fingerprint) },
		"no secret":              func(g *Grant) { g.Secret = "" },
		"short secret":           func(g *Grant) { g.Secret = g.Secret[:50] },
		"long secret":            func(g *Grant) { g.Secret += "aaaaaaaa" },
	} {
		g := goodGrant()
		change(&g)
		text, _ := json.Marshal(g)
		_, err := ReadGrant(write(t, string(text), 0o600))
		if !errors.Is(err, heddle.BadGrant.Sentinel()) || strings.Contains(err.Error(), goodGrant().Secret[:20]) {
			t.Errorf("%s: %v", what, err)
		}
	}
	good, _ := json.Marshal(goodGrant())
	for what, text := range map[string]string{"empty": "", "cut": string(good[:30]), "unknown field": `{"x":1,` + string(good[1:]), "long": string(good) + strings.Repeat(" ", maxGrant)} {
		if _, err := ReadGrant(write(t, text, 0o600)); !errors.Is(err, heddle.BadGrant.Sentinel()) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestAuthorization: the header is read as it was written. A name may have dots.
func TestAuthorization(t *testing.T) {
	g := goodGrant()
	machine, secret, ok := ParseAuthorization(g.authorization())
	if !ok || machine != g.Machine || SecretText(secret) != g.Secret {
		t.Error(machine, ok)
	}
	last := len(g.Secret) - 1 // of this letter, one bit counts: it is a q
	for what, header := range map[string]string{
		"another form of the secret": scheme + "a." + g.Secret[:last] + "r", "a secret with a line end": scheme + "a." + g.Secret[:9] + "\n" + g.Secret[9:],
		"a path": scheme + "../a." + g.Secret, "no name": scheme + "." + g.Secret, "no secret": scheme + "a.", "no scheme": "a." + g.Secret,
	} {
		if _, _, ok := ParseAuthorization(header); ok {
			t.Error(what, "is accepted")
		}
	}
}
