package protocol

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
)

// SMTP is how mail is sent (RFC 5321, 6409): people log in (RFC 4954), and hand a mail over. It is as large as planned with all that is said
// before. The answer is what a server says to each of that, whatever was planned.
type SMTP struct{ Account }

const (
	// smtpAddress is whom all mail is from, and for.
	smtpAddress = "people@crowd"
	// largestMail is in bytes. More is several mails, one after the other.
	largestMail = Content
)

// Port is that for submissions, or for those over TLS.
func (s SMTP) Port() uint16 {
	if s.TLS != nil {
		return 465
	}
	return 587
}

// Streams: one mail comes after the other.
func (SMTP) Streams() bool { return false }

// Begin makes the TLS handshake, if there is one.
func (s SMTP) Begin(ctx context.Context, c net.Conn) (net.Conn, error) {
	return visiting(ctx, c, s.TLS)
}

// Ask sends a mail. The first one of a connection logs in before.
func (s SMTP) Ask(c net.Conn, r Request) error {
	v := c.(*visit)
	return inTurn(v, func(in *bufio.Reader) error {
		d := &dialogue{in: in, out: v, no: func(line string) bool { return line < "2" || line >= "4" }}
		if !v.in {
			if err := s.enter(d, r.Refused); err != nil || r.Refused {
				return err
			}
			v.in = true
		}
		for size := range cut(max(1, r.Sends-d.sent), largestMail) {
			if err := send(d, size); err != nil {
				return err
			}
		}
		return nil
	})
}

// enter greets, and logs in; with a wrong password it is told so. A line of an answer that is the last one has a blank after its number.
func (s SMTP) enter(d *dialogue, refused bool) error {
	if err := d.until("220 "); err != nil {
		return err
	}
	if err := d.ask("250 ", "EHLO crowd\r\n"); err != nil {
		return err
	}
	password, want := s.Password, "235 "
	if refused {
		password, want = strings.Repeat("x", len(password)), "535 "
		d.no = func(line string) bool { return !strings.HasPrefix(line, "535") }
	}
	words := base64.StdEncoding.EncodeToString([]byte("\x00" + s.User + "\x00" + password))
	if err := d.ask(want, "AUTH PLAIN %s\r\n", words); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	return nil
}

// send sends a mail, which is of a size in bytes with all that is said for it.
func send(d *dialogue, size int64) error {
	const head, end = "From: " + smtpAddress + "\r\nTo: " + smtpAddress + "\r\nSubject: crowd\r\n\r\n", ".\r\n"
	from, to, data := "MAIL FROM:<"+smtpAddress+">\r\n", "RCPT TO:<"+smtpAddress+">\r\n", "DATA\r\n"
	for _, words := range []string{from, to} {
		if err := d.ask("250 ", "%s", words); err != nil {
			return err
		}
	}
	if err := d.ask("354 ", "%s", data); err != nil {
		return err
	}
	out := bufio.NewWriterSize(d.out, 4<<10)
	out.WriteString(head)
	text(out, size-int64(len(from)+len(to)+len(data)+len(head)+len(end)))
	out.WriteString(end)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	return d.until("250 ")
}

// lines is what mails are filled with: lines as those of base64 (RFC 2045), of letters that are not all alike.
var lines = func() []byte {
	var b strings.Builder
	x := uint32(1)
	for b.Len() < 32<<10 {
		for range 76 { // xorshift (Marsaglia 2003)
			x ^= x << 13
			x ^= x >> 17
			x ^= x << 5
			b.WriteByte(steps[(x>>8)%uint32(len(steps))])
		}
		b.WriteString("\r\n")
	}
	return []byte(b.String())
}()

// lineSize is that of a line, with its end.
const lineSize = 76 + 2

// text writes lines of a size in bytes in all; one that is smaller than an empty line is one. The first one is longer, so that no other need be. Others
// have their turn after each chunk, as with payload.Fill.
func text(to io.Writer, size int64) error {
	first := size % lineSize
	if size < lineSize {
		first = max(0, size-2)
	}
	if _, err := io.WriteString(to, strings.Repeat("x", int(first))); err != nil {
		return err
	}
	if size < lineSize {
		_, err := io.WriteString(to, "\r\n")
		return err
	}
	for left := size - first; left > 0; {
		n, err := to.Write(lines[:min(left, int64(len(lines)))])
		if err != nil {
			return err
		}
		left -= int64(n)
		runtime.Gosched()
	}
	return nil
}
