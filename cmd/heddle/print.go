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

	"github.com/heddle-network/heddle"
)

// All text for people goes through a printer, which makes invisible characters visible
// (heddle.Visible).

// printer writes text for people to a file or a terminal.
type printer struct{ to io.Writer }

// printTo is the printer of a writer, which may be one already.
func printTo(w io.Writer) io.Writer {
	if p, is := w.(printer); is {
		return p
	}
	return printer{w}
}

// Write makes invisible characters visible. It must be called with whole characters.
func (p printer) Write(b []byte) (int, error) {
	shown := visible(string(b), true)
	for _, code := range []string{red, green, yellow, bold, plainAgain} {
		shown = strings.ReplaceAll(shown, paint(code), "\x1b["+code+"m")
	}
	_, err := io.WriteString(p.to, shown)
	return len(b), err
}

// plainAgain is the code that ends a colour.
const plainAgain = "0"

// secret is known only to this process, so that text of others cannot contain our colours.
var secret = func() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprint(binary.BigEndian.Uint64(b[:]))
}()

// paint is the form of a colour until the printer replaces it.
func paint(code string) string { return "\x1b[" + code + ";" + secret + "m" }

// visible is heddle.Visible for text that has colours of ours in it.
func visible(s string, lines bool) string {
	end := ";" + secret + "m"
	before, after, painted := strings.Cut(s, end)
	if !painted {
		return heddle.Visible(s, lines)
	}
	at := max(0, strings.LastIndex(before, "\x1b["))
	return heddle.Visible(before[:at], lines) + before[at:] + end + visible(after, lines)
}

// line shows text of others on one line.
func line(s string) string { return visible(s, false) }

// say writes text with arguments that may be text of others, each on one line.
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

// escaped is heddle.Escaped for both forms of documents: YAML, of which JSON is a part, has
// no pairs of surrogates (YAML 1.2, section 5.7).
func escaped(doc []byte, format string) []byte {
	if format != formatYAML {
		return heddle.Escaped(doc)
	}
	var out bytes.Buffer
	for _, r := range string(doc) {
		if r > 0xffff && unseen(r) {
			fmt.Fprintf(&out, `\U%08x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return heddle.Escaped(out.Bytes())
}

func unseen(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
