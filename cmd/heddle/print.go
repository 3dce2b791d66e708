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

// printTo returns a printer for a writer, which may be a printer already.
func printTo(w io.Writer) io.Writer {
	if p, is := w.(printer); is {
		return p
	}
	return printer{w}
}

// Write makes invisible characters visible. It must be called with whole characters.
func (p printer) Write(b []byte) (int, error) {
	shown := visible(string(b), true)
	for _, code := range []string{red, green, yellow, bold, resetColour} {
		shown = strings.ReplaceAll(shown, colourMark(code), "\x1b["+code+"m")
	}
	_, err := io.WriteString(p.to, shown)
	return len(b), err
}

// resetColour is the code that ends a colour.
const resetColour = "0"

// colourKey is known only to this process, so that foreign text cannot contain our colours.
var colourKey = func() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return fmt.Sprint(binary.BigEndian.Uint64(b[:]))
}()

// colourMark is the form of a colour until the printer replaces it.
func colourMark(code string) string { return "\x1b[" + code + ";" + colourKey + "m" }

// visible is heddle.Visible for text that may contain our colours.
func visible(s string, lines bool) string {
	end := ";" + colourKey + "m"
	before, after, painted := strings.Cut(s, end)
	if !painted {
		return heddle.Visible(s, lines)
	}
	at := max(0, strings.LastIndex(before, "\x1b["))
	return heddle.Visible(before[:at], lines) + before[at:] + end + visible(after, lines)
}

// oneLine makes foreign text one line.
func oneLine(s string) string { return visible(s, false) }

// printLine writes text; its arguments may be foreign text, and each is made one line.
func printLine(w io.Writer, format string, args ...any) error {
	for i, a := range args {
		switch x := a.(type) {
		case string:
			args[i] = oneLine(x)
		case error:
			args[i] = errors.New(oneLine(x.Error()))
		case fmt.Stringer:
			args[i] = oneLine(x.String())
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
		if r > 0xffff && invisible(r) {
			fmt.Fprintf(&out, `\U%08x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return heddle.Escaped(out.Bytes())
}

func invisible(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
