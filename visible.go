package heddle

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Untrusted text (names, aliases, labels, messages of other hosts and of tools) may
// hold terminal control sequences, or characters that make it look like other text:
// control characters of ASCII and Latin-1 (ECMA-48), marks that change the direction of
// writing (Unicode UAX #9), characters without width. Use Visible to print such text for
// people, and Escaped for a document, a page or a log.

// Visible replaces characters that are not printable by their Go escape sequences. If
// lines is set, line ends and tabs stay as they are.
func Visible(s string, lines bool) string {
	if strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || !seen(r, lines) }) < 0 {
		return s
	}
	var out strings.Builder
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if broken := r == utf8.RuneError && size == 1; seen(r, lines) && !broken {
			out.WriteString(s[:size])
		} else {
			q := fmt.Sprintf("%+q", s[:size])
			out.WriteString(q[1 : len(q)-1])
		}
		s = s[size:]
	}
	return out.String()
}

// Escaped replaces characters that are not printable by JSON escapes (\uXXXX; RFC 8259,
// section 7). In JSON these occur only in strings, so the document's meaning stays the
// same. It is needed because encoding/json leaves DEL, the Latin-1 controls and the
// direction marks as they are.
func Escaped(doc []byte) []byte {
	unseen := func(r rune) bool { return !seen(r, true) }
	if bytes.IndexFunc(doc, unseen) < 0 {
		return doc
	}
	var out bytes.Buffer
	for _, r := range string(doc) {
		switch {
		case !unseen(r):
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

// seen reports whether a character is printable, or, with lines, a line end or a tab.
func seen(r rune, lines bool) bool { return unicode.IsPrint(r) || lines && (r == '\n' || r == '\t') }
