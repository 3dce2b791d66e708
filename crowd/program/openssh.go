package program

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"strings"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/ssh"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/protocol"
)

// openssh has a shell that prints as many letters as it is told. It lets in who has the password of the round. As it is nobody
// itself, nobody is whom it lets in.
type openssh struct{}

func (openssh) debian() (pack, file string) { return "openssh-server", "sshd" }

func (openssh) version() ([]string, func(string) string) {
	return []string{"-V"}, func(said string) string { // OpenSSH_9.2, OpenSSL 3.0.19 27 Jan 2026
		_, v, _ := strings.Cut(said, "OpenSSH_")
		v, _, _ = strings.Cut(v, ",")
		v, _, _ = strings.Cut(v, " ")
		return v
	}
}

// Where sshd has its files.
const (
	sshdConf   = "/etc/sshd.conf"
	sshdKey    = "/etc/sshd.key"
	sshdScript = "/etc/answers.sh"
)

func (o openssh) configured(s Setting) (p container.Program, speaks protocol.Protocol, err error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return p, nil, fmt.Errorf("make key: %w", err)
	}
	secret, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return p, nil, fmt.Errorf("write key: %w", err)
	}
	host, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		return p, nil, fmt.Errorf("write key: %w", err)
	}
	people := protocol.SSH{User: "nobody", Password: rand.Text(), Host: host}
	hash, err := bcrypt.GenerateFromPassword([]byte(people.Password), bcrypt.MinCost) // nobody guesses 128 bits
	if err != nil {
		return p, nil, fmt.Errorf("make password: %w", err)
	}
	p = container.Program{Args: []string{"-D", "-e", "-f", sshdConf}, Size: spare, Files: []container.File{
		text(sshdConf, o.conf(s, people)), text(sshdKey, string(pem.EncodeToMemory(secret))), text(sshdScript, protocol.SSHScript),
		text("/etc/passwd", fmt.Sprintf("%s:%s:65534:65534::/:/bin/sh\n", people.User, hash))}}
	return p, people, nil
}

func (openssh) conf(s Setting, people protocol.SSH) string {
	var listen strings.Builder
	for _, a := range s.Addrs {
		fmt.Fprintf(&listen, "ListenAddress %s\n", a)
	}
	return fmt.Sprintf(`Port %d
%sHostKey %s
PidFile none
LogLevel ERROR
UsePAM no
UseDNS no
StrictModes no
AllowUsers %s
PubkeyAuthentication no
KbdInteractiveAuthentication no
PasswordAuthentication yes
PermitTTY no
DisableForwarding yes
Compression no
MaxSessions 1
MaxStartups %[5]d:100:%[5]d
ForceCommand exec sh %s
`, people.Port(), listen.String(), sshdKey, people.User, s.connections(), sshdScript)
}
