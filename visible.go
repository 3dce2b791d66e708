package heddle

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What others chose (names, aliases, labels, the words of other hosts and of tools) may
// hold what a terminal takes for an order, or what makes text look like another: control
// characters of ASCII and of Latin-1 (ECMA-48), marks that turn the direction of writing
// (Unicode UAX #9), characters without width. Whoever writes such text for people writes
// it with Visible, whoever writes a document, a page or a log with Escaped.

// Visible shows the characters of a text that are not to be seen as they are written in a
// string of Go; ends of lines, and tabulators, stay as they are if lines is set.
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

// Escaped has a document show by their numbers, as JSON writes them (RFC 8259, section
// 7), the characters that are not to be seen. In JSON they are found in strings alone,
// and the document says the same as before: encoding/json itself leaves DEL, the controls
// of Latin-1 and the marks of direction as they are.
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

// seen says whether a character is to be seen, or ends a line where there may be several.
func seen(r rune, lines bool) bool { return unicode.IsPrint(r) || lines && (r == '\n' || r == '\t') }
