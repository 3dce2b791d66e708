package main

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// All text for people goes through a printer. What others chose (names, aliases,
// labels, the words of other hosts) may hold what a terminal takes for an order, or what
// makes text look like another: control characters of ASCII and of Latin-1 (ECMA-48),
// marks that turn the direction of writing (Unicode UAX #9), characters without width.
// The printer shows such characters as they are written in a string of Go.

// printer writes text for people to a file or a terminal.
type printer struct{ to io.Writer }

// printTo is the printer of a writer, which may be one already.
func printTo(w io.Writer) io.Writer {
	if p, is := w.(printer); is {
		return p
	}
	return printer{w}
}

// Write shows what is not to be seen. It is called with whole characters.
func (p printer) Write(b []byte) (int, error) {
	shown := visible(string(b), true)
	for _, code := range []string{red, green, yellow, bold, plainAgain} {
		shown = strings.ReplaceAll(shown, paint(code), "\x1b["+code+"m")
	}
	_, err := io.WriteString(p.to, shown)
	return len(b), err
}

// plainAgain ends a colour.
const plainAgain = "0"

// secret is known to this process alone: nobody else's text has our colours.
var secret = func() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprint(binary.BigEndian.Uint64(b[:]))
}()

// paint is how a colour is written until the printer meets it.
func paint(code string) string { return "\x1b[" + code + ";" + secret + "m" }

// visible shows the characters of a text that are not to be seen; ends of lines, and
// tabulators, if they are part of what others chose.
func visible(s string, lines bool) string {
	if strings.IndexFunc(s, func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsPrint(r) && !(lines && (r == '\n' || r == '\t'))
	}) < 0 {
		return s
	}
	var out strings.Builder
	for s != "" {
		if code := painted(s); code != "" {
			out.WriteString(code)
			s = s[len(code):]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case unicode.IsPrint(r) && !(r == utf8.RuneError && size == 1), lines && (r == '\n' || r == '\t'):
			out.WriteString(s[:size])
		default:
			q := fmt.Sprintf("%+q", s[:size])
			out.WriteString(q[1 : len(q)-1])
		}
		s = s[size:]
	}
	return out.String()
}

// painted is the colour of ours that a text begins with, "" if there is none.
func painted(s string) string {
	end := strings.IndexByte(s, 'm')
	if strings.HasPrefix(s, "\x1b[") && end > 0 && strings.HasSuffix(s[:end], ";"+secret) {
		return s[:end+1]
	}
	return ""
}

// line shows a text that others chose on one line.
func line(s string) string { return visible(s, false) }

// say writes text with what others chose in it, each on one line.
func say(w io.Writer, format string, args ...any) error {
	for i, a := range args {
		switch x := a.(type) {
		case string:
			args[i] = line(x)
		case error:
			args[i] = errors.New(line(x.Error()))
		case fmt.Stringer:
			args[i] = line(x.String())
		}
	}
	_, err := fmt.Fprintf(printTo(w), format, args...)
	return err
}

// escaped has a document in JSON show by their numbers the characters that are not to
// be seen, which JSON allows as they are: DEL, the controls of Latin-1, and the like.
// They are found in strings alone. YAML, of which JSON is a part, has no pairs of
// surrogates (YAML 1.2, section 5.7).
func escaped(doc []byte, format string) []byte {
	var out bytes.Buffer
	for _, r := range string(doc) {
		if !unseen(r) {
			out.WriteRune(r)
			continue
		}
		if r > 0xffff && format == formatYAML {
			fmt.Fprintf(&out, `\U%08x`, r)
			continue
		}
		if r > 0xffff {
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			continue
		}
		fmt.Fprintf(&out, `\u%04x`, r)
	}
	return out.Bytes()
}

func unseen(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
