package program

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/scenario"
)

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
