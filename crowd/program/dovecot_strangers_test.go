package program_test

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/crowd/program"
)

// told is what a stranger is told who says something, and leaves.
func told(t *testing.T, c net.Conn, words, leave string) string {
	t.Helper()
	io.WriteString(c, words+"\r\n"+leave+"\r\n")
	answer, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) || len(answer) == 0 {
		t.Errorf("%.100q: %.300q, %v", words, answer, err)
	}
	return string(answer)
}

// TestMailStrangers: who has no password is told so, and gets no mail, and sends none, with TLS and without it.
func TestMailStrangers(t *testing.T) {
	authority, err := program.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	plain, secure := startWith(t, "dovecot", program.Setting{}), startWith(t, "dovecot", program.Setting{Authority: authority})
	approach := func(t *testing.T, sending bool) map[string]net.Conn {
		p, s := plain, secure
		if sending {
			p, s = p.sending(), s.sending()
		}
		over := tls.Client(s.approach(t), &tls.Config{RootCAs: authority.Pool, ServerName: "crowd-web"})
		if err := over.Handshake(); err != nil {
			t.Fatal(err)
		}
		return map[string]net.Conn{"plain": p.approach(t), "TLS": over}
	}
	empty := base64.StdEncoding.EncodeToString([]byte("\x00people\x00"))
	for _, words := range []string{"a EXAMINE INBOX", "a FETCH 1 BODY[]", "a LIST \"\" *", "a LOGIN people \"\"", "a LOGIN people x", "a LOGIN nobody x", "a LOGIN root {1000000+}",
		"a AUTHENTICATE ANONYMOUS eA==", "a AUTHENTICATE PLAIN " + empty, "a AUTHENTICATE EXTERNAL =", "a STARTTLS", "a UNAUTHENTICATE", "a ID NIL", "a NAMESPACE", "GET / HTTP/1.1",
		"a APPEND INBOX {3}\r\nxxx", strings.Repeat("x", 20_000)} {
		for what, c := range approach(t, false) {
			answer := told(t, c, words, "z LOGOUT")
			for line := range strings.Lines(answer) {
				_, rest, _ := strings.Cut(line, " ")
				word, _, _ := strings.Cut(rest, " ")
				if !strings.Contains(" NO BAD BYE ID CAPABILITY ", " "+strings.TrimSpace(word)+" ") && !strings.HasPrefix(line, "* OK [") && !strings.HasPrefix(line, "z OK") &&
					!strings.HasPrefix(line, "a OK ID") && !strings.HasPrefix(line, "+ ") {
					t.Errorf("%s, %.50s: %.100q", what, words, line)
				}
			}
			if strings.Contains(answer, "EXISTS") || strings.Contains(answer, "FETCH (") || strings.Contains(answer, "Logged in") {
				t.Errorf("%s, %.50s: %.500q", what, words, answer)
			}
		}
	}
	for _, words := range []string{"MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA", "EHLO x\r\nMAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA", "EHLO x\r\nAUTH PLAIN " + empty, "EHLO x\r\nVRFY people",
		"EHLO x\r\nXCLIENT ADDR=127.0.0.1 LOGIN=people\r\nEHLO x\r\nMAIL FROM:<a@b>", "EHLO x\r\nBDAT 3 LAST\r\nxxx", "EHLO x\r\nSTARTTLS", "HELO x\r\nBURL imap://x LAST", strings.Repeat("x", 20_000)} {
		for what, c := range approach(t, true) {
			answer := told(t, c, words, "QUIT")
			for line := range strings.Lines(answer) {
				if line > "3" && line < "4" || strings.HasPrefix(line, "235") || strings.HasPrefix(line, "250 2.1") || strings.HasPrefix(line, "250 2.0.0 OK") {
					t.Errorf("%s, %.50s: %.500q", what, words, answer)
				}
			}
		}
	}
	if err := errors.Join(plain.answers(), plain.sending().answers(), secure.answers(), secure.sending().answers()); err != nil {
		t.Error(err)
	}
	if c, err := plain.Dial(t.Context(), netip.AddrPortFrom(stranger, 25), func(netip.AddrPort) {}); err == nil {
		c.Close()
		t.Error("what takes mail from dovecot takes it from others")
	}
}

// TestMailCrowded: strangers who open more connections than dovecot takes do not keep people out: who has been there longest without logging in goes.
func TestMailCrowded(t *testing.T) {
	r := startWith(t, "dovecot", program.Setting{})
	for _, r := range []running{r, r.sending()} {
		for range 1500 {
			r.approach(t)
		}
		for range 20 {
			if err := r.answers(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
