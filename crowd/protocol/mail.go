package protocol

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// Mail is what a service for mail speaks: mail is sent by SMTP, and all else is done by IMAP.
type Mail struct {
	IMAP
	Submission SMTP
}

// Others: what is sent.
func (m Mail) Others() map[scenario.Action]Protocol {
	return map[scenario.Action]Protocol{scenario.SendsMail: m.Submission}
}

// Account is what people log in with to a service for mail.
type Account struct {
	User, Password string
	// TLS is how connections are secured, from their beginning (RFC 8314); nil: they are not.
	TLS *tls.Config
}

// Network is TCP.
func (Account) Network() string { return "tcp" }

// dialogue is what is said on a connection for mail, line by line.
type dialogue struct {
	in  *bufio.Reader
	out io.Writer
	// no reports whether a line is a refusal.
	no func(line string) bool
	// sent and received count what is said, in bytes.
	sent, received int64
}

func (d *dialogue) say(format string, args ...any) error {
	words := fmt.Sprintf(format, args...)
	d.sent += int64(len(words))
	return say(d.out, words)
}

// line reads a line, without its end.
func (d *dialogue) line() (string, error) {
	line, err := reply(d.in)
	d.received += int64(len(line) + len("\r\n"))
	return line, err
}

// until reads lines up to the first one that begins so. A refusal is an error.
func (d *dialogue) until(begins string) error {
	for {
		line, err := d.line()
		switch {
		case err != nil:
			return err
		case d.no(line):
			return errors.New("read answer: the service says " + line)
		case strings.HasPrefix(line, begins):
			return nil
		}
	}
}

// ask says something, and reads the answer up to the line that begins so.
func (d *dialogue) ask(begins, format string, args ...any) error {
	if err := d.say(format, args...); err != nil {
		return err
	}
	return d.until(begins)
}
