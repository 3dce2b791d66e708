package program_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/protocol"
)

// sending is the same program as those see it who send mail.
func (r running) sending() running {
	r.Protocol = r.Protocol.(protocol.Mail).Submission
	return r
}

// TestMailSizes: over IMAP, questions are as large as planned, and answers but for what frames them; the first ones with greeting and login.
func TestMailSizes(t *testing.T) {
	r := startWith(t, "dovecot", program.Setting{})
	c, wire := r.wire(t)
	if err := r.Ask(c, protocol.Request{Sends: 64, Receives: 256}); err != nil || wire.sent != 60 || wire.received < 256 || wire.received > 1500 {
		t.Errorf("to log in: %d bytes were sent, %d received, %v", wire.sent, wire.received, err)
	}
	for i, x := range []protocol.Request{{Sends: 128, Receives: 2000}, {Sends: 64, Receives: 1}, {Sends: 50, Receives: 10_000_000}, {Sends: 4096, Receives: 1 << 20},
		{Sends: 1100, Receives: 1<<20 + 1}, {Sends: 78, Receives: 100}, {Sends: 79, Receives: 100}, {Sends: 80, Receives: 100}, {Sends: 1080, Receives: 100},
		{Sends: 200, Receives: 3*protocol.Content + 17}} {
		x.Site, x.Page, x.Object = 1+i, 2*i, 3*i
		wire.sent, wire.received = 0, 0
		if err := r.Ask(c, x); err != nil {
			t.Fatalf("%+v: %v", x, err)
		}
		const ask, frame = 51, 200 // at most: the question for a part, what frames an answer
		parts := (x.Receives + protocol.MessageSize - 1) / protocol.MessageSize
		if wire.sent < x.Sends || wire.sent > x.Sends+(parts-1)*ask || wire.received <= x.Receives || wire.received > x.Receives+parts*frame {
			t.Errorf("%+v: %d bytes were sent, %d received", x, wire.sent, wire.received)
		}
	}
	first, sees := r.wire(t)
	if err := r.Ask(first, protocol.Request{Sends: 1000, Receives: 20_000}); err != nil || sees.sent != 1000 || sees.received < 20_000 || sees.received > 20_200 {
		t.Errorf("to log in, and more: %d bytes were sent, %d received, %v", sees.sent, sees.received, err)
	}
}

// TestMailSent: mails are as large as planned, the first one with greeting and login.
func TestMailSent(t *testing.T) {
	r := startWith(t, "dovecot", program.Setting{}).sending()
	c, wire := r.wire(t)
	for _, size := range []int64{1000, 300, 301, 2000, 128_000, 1_000_000, 10_000_000, 2*protocol.Content + 1} {
		wire.sent, wire.received = 0, 0
		if err := r.Ask(c, protocol.Request{Sends: size, Receives: 256}); err != nil {
			t.Fatalf("%d: %v", size, err)
		}
		if wire.sent != size || wire.received > 500 {
			t.Errorf("%d bytes were planned, %d sent, %d received", size, wire.sent, wire.received)
		}
	}
}

// TestMailContents: they are those of the seed.
func TestMailContents(t *testing.T) {
	read := startWith(t, "dovecot", program.Setting{}).keeps(t, protocol.MessageSize)
	_, message, _ := bytes.Cut(read, []byte("}\r\nSubject: "))
	_, text, _ := bytes.Cut(message, []byte("\r\n\r\n"))
	text = text[:bytes.Index(text, []byte(")"))]
	got, err := base64.StdEncoding.DecodeString(string(text))
	for i := range protocol.Content / protocol.MessageSize {
		want := make([]byte, len(got))
		draw.NewStream(7, "contents", "web", fmt.Sprint(i)).Read(want)
		if bytes.Equal(got, want) && err == nil && len(got) > 700_000 {
			return
		}
	}
	t.Errorf("%d letters, %v: %.100q", len(text), err, text)
}

// TestMailRefuses: whoever has a wrong password is told, over both protocols, and comes in with the right one afterwards.
func TestMailRefuses(t *testing.T) {
	r := startWith(t, "dovecot", program.Setting{})
	for _, r := range []running{r, r.sending()} {
		for _, size := range []int64{0, 64, 3000} {
			c, wire := r.wire(t)
			if err := r.Ask(c, protocol.Request{Sends: size, Receives: 256, Refused: true}); err != nil || wire.sent > max(size, 80) {
				t.Errorf("a wrong password: %d bytes, %v", wire.sent, err)
			}
		}
		if err := r.answers(); err != nil {
			t.Error(err)
		}
	}
	other := r.Protocol.(protocol.Mail)
	other.IMAP.Password, other.Submission.Password = "another", "another"
	for want, speaks := range map[string]protocol.Protocol{"log in: read answer: the service says a NO [AUTHENTICATIONFAILED]": other.IMAP,
		"log in: read answer: the service says 535": other.Submission} {
		r.Protocol = speaks
		c, _ := r.wire(t)
		if err := r.Ask(c, protocol.Request{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %s", err, want)
		}
	}
}
