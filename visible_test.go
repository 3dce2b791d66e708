package heddle

import (
	"encoding/json"
	"testing"
	"unicode"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string][2]string{
		"plain, gr\u00fcn \U0001f600": {"plain, gr\u00fcn \U0001f600", "plain, gr\u00fcn \U0001f600"},
		"a\nb\tc\r":                   {"a\nb\tc\\r", `a\nb\tc\r`},
		"\x1b[2J\x00\x7f\u009b":       {`\x1b[2J\x00\x7f\u009b`, `\x1b[2J\x00\x7f\u009b`},
		"\u202e\u2066\u200b\ufeff":    {`\u202e\u2066\u200b\ufeff`, `\u202e\u2066\u200b\ufeff`},
		"bad \xff, \ufffd":            {`bad \xff, ` + "\ufffd", `bad \xff, ` + "\ufffd"},
		"\U000e0001":                  {`\U000e0001`, `\U000e0001`},
	} {
		if got := Visible(in, true); got != want[0] {
			t.Errorf("%q: %q, want %q", in, got, want[0])
		}
		if got := Visible(in, false); got != want[1] {
			t.Errorf("%q on one line: %q, want %q", in, got, want[1])
		}
	}
}

// TestEscaped: a document in JSON says the same as before, with nothing hidden in it.
func TestEscaped(t *testing.T) {
	for r := range rune(0x110000) {
		if r%7 != 0 && r > 0x3000 && r < 0xe0000 || r >= 0xd800 && r < 0xe000 {
			continue // a seventh of the many letters, and no halves of pairs
		}
		plain, err := json.Marshal("a" + string(r) + "b")
		if err != nil {
			t.Fatal(err)
		}
		doc := Escaped(plain)
		for _, x := range string(doc) {
			if !unicode.IsPrint(x) {
				t.Fatalf("%U is hidden in %q", r, doc)
			}
		}
		var back string
		if err := json.Unmarshal(doc, &back); err != nil || back != "a"+string(r)+"b" {
			t.Fatalf("%U: %s is %q: %v", r, doc, back, err)
		}
	}
}
