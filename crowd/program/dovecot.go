package program

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/draw"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/scenario"
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

// dovecotDrops is a script for sh that takes mail by SMTP with CHUNKING (RFC 3030) from dovecot, and drops it: one mail after the other, on a
// connection that is its input and output.
const dovecotDrops = `set -f
end=$(printf '\r')
printf '220 crowd\r\n'
while read -r verb size last; do
  case $verb in
  EHLO*) printf '250-crowd\r\n250-CHUNKING\r\n250 8BITMIME\r\n' ;;
  BDAT) head -c "${size%"$end"}" >/dev/null; printf '250 2.0.0 OK\r\n' ;;
  QUIT*) printf '221 2.0.0 Bye\r\n'; exit ;;
  *) printf '250 2.0.0 OK\r\n' ;;
  esac
done
`

func (dovecot) conf(s Setting, people protocol.Mail) string {
	var listen []string
	for _, a := range s.Addrs {
		listen = append(listen, a.String())
	}
	c, how := s.connections(), "ssl = no"
	if s.Authority != nil && s.Files > 0 { // who speaks TLS has two files in the process that does that
		c = min(c, (s.Files-scenario.FilesOfProgram)/2)
	}
	ports := map[string]uint16{"imap": people.Port(), "imaps": 0, "submission": people.Submission.Port(), "submissions": 0}
	if s.Authority != nil {
		how = fmt.Sprintf("ssl = required\nssl_cert = <%s\nssl_key = <%s", certFile, keyFile)
		ports = map[string]uint16{"imap": 0, "imaps": people.Port(), "submission": 0, "submissions": people.Submission.Port()}
	}
	var logins strings.Builder
	for _, one := range []string{"imap", "submission"} {
		secure := ""
		if s.Authority != nil {
			secure = "\n    ssl = yes"
		}
		fmt.Fprintf(&logins, `service %[1]s-login {
  chroot =
  service_count = 0
  process_min_avail = %[2]d
  process_limit = %[2]d
  client_limit = %[3]d
  vsz_limit = %[7]dM
  inet_listener %[1]s {
    port = %[4]d
  }
  inet_listener %[1]ss {
    port = %[5]d%[6]s
  }
}
service %[1]s {
  process_limit = %[3]d
}
`, one, runtime.NumCPU(), c, ports[one], ports[one+"s"], secure, 256+c/4) // megabytes: 256 KiB for each
	}
	return fmt.Sprintf(`protocols = imap submission
listen = %s
base_dir = %s
state_dir = %[2]s
log_path = /dev/stderr
info_log_path = /dev/null
default_internal_user = nobody
default_internal_group = nogroup
default_login_user = nobody
default_client_limit = %[3]d
first_valid_uid = 65534
%[4]s
# People log in as planned. Who mistypes a password is not punished.
disable_plaintext_auth = no
auth_mechanisms = plain
auth_failure_delay = 0
mail_max_userip_connections = 0
passdb {
  driver = passwd-file
  args = %[5]s
}
userdb {
  driver = static
  args = uid=65534 gid=65534 home=%[6]s
}
# All sessions have one index: one that each has in memory is made under a lock of all.
mail_location = maildir:%[7]s:INDEX=%[8]s:CONTROL=%[8]s
mailbox_list_index = no
mail_temp_dir = %[6]s
submission_relay_host = 127.0.0.1
submission_relay_port = %[9]d
submission_max_mail_size = 1G
service anvil {
  chroot =
  unix_listener anvil-auth-penalty {
    mode = 0
  }
}
service stats {
  chroot =
}
service sink {
  executable = script -p /usr/bin/sh %[10]s
  process_limit = %[11]d
  client_limit = 1
  inet_listener sink {
    address = 127.0.0.1
    port = %[9]d
  }
}
%[12]s`, strings.Join(listen, ", "), dovecotRun, 2*c+scenario.FilesOfProgram, how, dovecotPeople, dovecotUnder, dovecotMail, dovecotControl, sinkPort, dovecotSink, c, logins.String())
}

// sinkPort is where dovecot hands mail on.
const sinkPort = 25
