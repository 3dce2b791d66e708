package protocol

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
)

// IMAP is IMAP4rev1 (RFC 3501), with a server whose INBOX has Content bytes in messages of MessageSize. An answer of a planned size
// is a part of a message (BODY.PEEK[]<from.size>): exactly those bytes, beside what frames them. A request is the question for it, which
// its name, or what the client says of itself (ID, RFC 2971), makes as large as planned. The first one of a connection has greeting and
// login in it. A request has no message: that is sent by SMTP.
type IMAP struct{ Account }

// Port is that of IMAP, or of IMAP over TLS.
func (i IMAP) Port() uint16 {
	if i.TLS != nil {
		return 993
	}
	return 143
}

// Streams: one answer comes after the other.
func (IMAP) Streams() bool { return false }

// Begin makes the TLS handshake, if there is one.
func (i IMAP) Begin(ctx context.Context, c net.Conn) (net.Conn, error) {
	return visiting(ctx, c, i.TLS)
}

// Ask makes the request. The first one of a connection logs in, and opens the mailbox, before: if that is as much as planned, it is all.
func (i IMAP) Ask(c net.Conn, r Request) error {
	v := c.(*visit)
	return inTurn(v, func(in *bufio.Reader) error {
		d := &dialogue{in: in, out: v, no: imapNo}
		if r.Refused {
			return i.refused(d, r)
		}
		if !v.in {
			if err := i.enter(d); err != nil {
				return err
			}
			v.in = true
			r.Sends, r.Receives = r.Sends-d.sent, r.Receives-d.received
			if r.Receives <= 0 && r.Sends <= int64(len(part{1, 0, 1}.question(imapTag))) {
				return nil
			}
		}
		return parts(d, r)
	})
}

// imapTag is the name of a command. One answer comes after the other, so all may have the same.
const imapTag = "a"

// imapNo reports whether a line says that a command failed, or that the server takes its leave.
func imapNo(line string) bool {
	_, rest, _ := strings.Cut(line, " ")
	word, _, _ := strings.Cut(rest, " ")
	return word == "NO" || word == "BAD" || word == "BYE"
}

// enter logs in, and opens the mailbox, which nobody changes.
func (i IMAP) enter(d *dialogue) error {
	if err := d.until("* OK "); err != nil {
		return err
	}
	if err := d.ask("a OK ", "a LOGIN %s %s\r\n", i.User, i.Password); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	if err := d.ask("a OK ", "a EXAMINE INBOX\r\n"); err != nil {
		return fmt.Errorf("open mailbox: %w", err)
	}
	return nil
}

// longestPassword is in bytes: a server reads little of who has not logged in. No source: a guess.
const longestPassword = 512

// refused logs in with a wrong password, which makes the request as large as planned.
func (i IMAP) refused(d *dialogue, r Request) error {
	if err := d.until("* OK "); err != nil {
		return err
	}
	frame := len("a LOGIN  \r\n") + len(i.User)
	d.no = func(line string) bool {
		return imapNo(line) && !strings.HasPrefix(line, "a NO ") || strings.HasPrefix(line, "a OK ")
	}
	return d.ask("a NO ", "a LOGIN %s %s\r\n", i.User, strings.Repeat("x", max(1, int(min(r.Sends, longestPassword))-frame)))
}
