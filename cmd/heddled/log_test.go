package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
)

// TestNothingHidden: whatever others chose, a line of the log is one line, and nothing in
// it is an order to a terminal.
func TestNothingHidden(t *testing.T) {
	const hostile = "x\x1b[2J\u009b31m\x7f\nlevel=INFO msg=forged\r\u202egnp.exe\u200b\ufeff\xff\x07"
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		c := defaultConfig()
		c.LogFormat = format
		log, err := c.logger(&out)
		if err != nil {
			t.Fatal(err)
		}
		log = log.With(hostile, hostile).WithGroup(hostile)
		log.Warn(hostile, hostile, hostile, "error", errors.New(hostile), "bytes", []byte(hostile), "list", []string{hostile}, "any", struct{ Name string }{hostile})
		text := strings.TrimSuffix(out.String(), "\n")
		if at := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar && format == "text" }); at >= 0 {
			t.Errorf("%s: %q is hidden in %q", format, text[at:min(at+8, len(text))], text)
		}
		if format == "json" {
			var back map[string]any
			if err := json.Unmarshal(out.Bytes(), &back); err != nil || back["msg"] != strings.ToValidUTF8(hostile, "\ufffd") {
				t.Errorf("%v: %q", err, back["msg"])
			}
		}
	}
}
