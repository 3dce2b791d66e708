package program

import (
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/protocol"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// unbound answers questions for names: it asks the network's own name servers, and keeps what they say as long as they allow. It
// answers people by their addresses. Others get no answer.
type unbound struct{}

func (unbound) debian() (pack, file string) { return "unbound", "unbound" }

func (unbound) version() ([]string, func(string) string) {
	return []string{"-V"}, func(said string) string { // Version 1.17.1
		_, v, _ := strings.Cut(said, "Version ")
		v, _, _ = strings.Cut(v, "\n")
		return strings.TrimSpace(v)
	}
}

// unboundConf is where Debian's AppArmor profile of unbound lets it read.
const unboundConf = "/etc/unbound/unbound.conf"

// unboundAdmitted is the size of the line that admits an address, in bytes, at most.
const unboundAdmitted = 72

func (u unbound) configured(s Setting) (p container.Program, speaks protocol.Protocol, err error) {
	if len(s.Upstreams) == 0 {
		return p, nil, errors.New("the network has no name servers that it could ask")
	}
	p = container.Program{Args: []string{"-d", "-p", "-c", unboundConf}, Size: spare + int64(len(s.Admits))*unboundAdmitted, Files: []container.File{text(unboundConf, u.conf(s))}}
	return p, protocol.DNS{Name: s.Host}, nil
}

// conf has no validation (iterator alone): the names are private, and unsigned. A socket for each question that is under way.
func (unbound) conf(s Setting) string {
	var listen, admits, asks strings.Builder
	for _, a := range s.Addrs {
		fmt.Fprintf(&listen, "\tinterface: %s\n", a)
	}
	for _, a := range s.Admits {
		fmt.Fprintf(&admits, "\taccess-control: %s/%d allow\n", a, a.BitLen())
	}
	for _, a := range s.Upstreams {
		fmt.Fprintf(&asks, "\tforward-addr: %s\n", a)
	}
	return fmt.Sprintf(`server:
	do-daemonize: no
	username: ""
	chroot: ""
	directory: ""
	pidfile: ""
	use-syslog: no
	verbosity: 0
	num-threads: 1
	outgoing-range: %d
	num-queries-per-thread: %[1]d
	module-config: "iterator"
	hide-identity: yes
	hide-version: yes
	do-not-query-localhost: no
	# Whom it asks may be away for a moment, and is asked again at once.
	infra-host-ttl: 1
	access-control: 0.0.0.0/0 deny
	access-control: ::/0 deny
	access-control: 127.0.0.0/8 deny
	access-control: ::1/128 deny
%s%sforward-zone:
	name: "."
%sremote-control:
	control-enable: no
`, scenario.FilesOfNames/2, listen.String(), admits.String(), asks.String())
}
