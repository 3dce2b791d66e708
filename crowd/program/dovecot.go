package program

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/protocol"
)

// dovecot has one mailbox, which nobody changes, and hands what is submitted to a script, which drops it. It answers who has the
// password of the round. All its processes are nobody.
type dovecot struct{}

func (dovecot) debian() (pack, file string) { return "dovecot-imapd dovecot-submissiond", "dovecot" }

func (dovecot) version() ([]string, func(string) string) {
	return []string{"--version"}, func(said string) string { // 2.3.19.1 (9b53102964)
		v, _, _ := strings.Cut(strings.TrimSpace(said), " ")
		return v
	}
}

// dovecotParts are where its programs may be.
var dovecotParts = []string{"/usr/lib/dovecot", "/usr/libexec/dovecot", "/usr/local/libexec/dovecot"}

// unfit: IMAP and submissions are programs of their own, and 2.4 is configured in other words.
func (dovecot) unfit(version string) string {
	if !strings.HasPrefix(version, "2.3.") {
		return "it is of version " + version + ", and heddle can configure 2.3 alone"
	}
	for _, one := range []string{"imap", "submission"} {
		found := false
		for _, folder := range dovecotParts {
			_, err := os.Stat(filepath.Join(folder, one))
			found = found || err == nil
		}
		if !found {
			return "its part " + one + " is not installed"
		}
	}
	return ""
}

// Where dovecot has its files.
const (
	dovecotConf    = "/etc/dovecot.conf"
	dovecotPeople  = "/etc/people"
	dovecotSink    = "/etc/sink.sh"
	dovecotMail    = "/srv/mail"
	dovecotRun     = "/run/dovecot"
	dovecotControl = "/run/control"
	dovecotUnder   = "/run/mail"
)

// dovecotUnderWay is how much of mails that are being sent dovecot may keep in files, in bytes: it has all of a mail that is larger than 128
// KiB before it hands it on. Whoever finds no room loses the connection. No source: a guess.
const dovecotUnderWay = 256 << 20

func (d dovecot) configured(s Setting) (p container.Program, speaks protocol.Protocol, err error) {
	account := protocol.Account{User: "people", Password: rand.Text()}
	p = container.Program{Path: "/bin/sh", Args: []string{"-c", dovecotStart, s.path, "-F", "-c", dovecotConf}, Size: protocol.Content + dovecotUnderWay + spare,
		Folders: []string{dovecotRun, dovecotControl, dovecotControl + "/.INBOX", dovecotUnder, dovecotMail + "/new", dovecotMail + "/tmp"}}
	if p.Files, account.TLS, err = s.secured(); err != nil {
		return p, nil, err
	}
	people := protocol.Mail{IMAP: protocol.IMAP{Account: account}, Submission: protocol.SMTP{Account: account}}
	p.Files = append(p.Files, text(dovecotConf, d.conf(s, people)), text(dovecotSink, dovecotDrops),
		text(dovecotPeople, fmt.Sprintf("%s:{SHA256.HEX}%x\n", account.User, sha256.Sum256([]byte(account.Password)))),
		text("/etc/passwd", "nobody:x:65534:65534::/:/bin/sh\n"), text("/etc/group", "nogroup:x:65534:\n"))
	const messages = protocol.Content / protocol.MessageSize
	// The list of numbers is there from the beginning: whoever is first would make it, and be told that there are no messages yet.
	numbers := fmt.Sprintf("3 V1 N%d G%032x\n", messages+1, 1)
	for i := range int64(messages) {
		// A name says how large a message is (S), also with the line ends of the protocol (W), so that nobody need read it.
		name := fmt.Sprintf("%d.M%[1]d.crowd,S=%d,W=%[2]d:2,S", i+1, protocol.MessageSize)
		numbers += fmt.Sprintf("%d :%s\n", i+1, name)
		p.Files = append(p.Files, container.File{Name: dovecotMail + "/cur/" + name, Write: func(w io.Writer) error {
			return dovecotMessage(w, draw.NewStream(s.Seed, "contents", s.Service, fmt.Sprint(i)))
		}})
	}
	p.Files = append(p.Files, text(dovecotControl+"/.INBOX/dovecot-uidlist", numbers))
	return p, people, nil
}

// dovecotStart is a script for sh: dovecot takes no more files than it is given, which is few by default, as programs expect (RLIMIT_NOFILE).
const dovecotStart = `ulimit -n "$(ulimit -Hn)"; exec "$0" "$@"`

// dovecotMessage writes a message: a line of its head, and lines of base64, the last one of which is as long as the others.
func dovecotMessage(to io.Writer, of io.Reader) error {
	const raw = 57 // bytes of a line, which has 76 letters
	const line = 76 + 2
	const frame = "Subject: \r\n\r\n"
	if _, err := fmt.Fprintf(to, "Subject: %s\r\n\r\n", strings.Repeat("x", protocol.MessageSize%line+line-len(frame))); err != nil {
		return err
	}
	var b [raw]byte
	for range protocol.MessageSize/line - 1 {
		of.Read(b[:])
		if _, err := fmt.Fprintf(to, "%s\r\n", base64.StdEncoding.EncodeToString(b[:])); err != nil {
			return err
		}
	}
	return nil
}
