package protocol

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/heddle-network/heddle/crowd/payload"
)

// SSH is the Secure Shell (RFC 4251 to 4254), with a server that runs SSHScript for whoever logs in. Requests and answers are as large on
// the wire as planned, up to the padding of packets; those that begin a connection with all that comes before them.
type SSH struct {
	User, Password string
	// Host is the key that the service must have.
	Host ssh.PublicKey
}

// Network is TCP.
func (SSH) Network() string { return "tcp" }

// Port is that of SSH.
func (SSH) Port() uint16 { return 22 }

// Streams: a shell answers one line after the other.
func (SSH) Streams() bool { return false }

// Begin has nothing to do: who has a wrong password is told when asking.
func (SSH) Begin(_ context.Context, c net.Conn) (net.Conn, error) { return &login{Conn: c}, nil }

// Ask makes the request. The first one of a connection logs in before.
func (s SSH) Ask(c net.Conn, r Request) error {
	l := c.(*login)
	if l.shell == nil {
		err := s.enter(l, r.Refused)
		if err != nil || r.Refused {
			return err
		}
		r.Sends, r.Receives = r.Sends-l.sent.Load(), r.Receives-l.received.Load()
	}
	return inTurn(l.shell, func(in *bufio.Reader) error {
		head, size, letters := line(inPackets(r.Sends), max(1, inPackets(r.Receives)))
		if err := payload.Send(l.shell, head, size); err != nil {
			return fmt.Errorf("send request: %w", l.cause(err))
		}
		if err := payload.Discard(in, letters); err != nil {
			return fmt.Errorf("read answer: %w", l.cause(err))
		}
		return nil
	})
}

// enter logs in, and starts the shell; with a wrong password it is told so.
func (s SSH) enter(l *login, refused bool) error {
	password := s.Password
	if refused {
		password = strings.Repeat("x", len(password))
	}
	over, chans, requests, err := ssh.NewClientConn(l.wire(), "", &ssh.ClientConfig{User: s.User, Auth: []ssh.AuthMethod{ssh.Password(password)},
		HostKeyCallback: ssh.FixedHostKey(s.Host), HostKeyAlgorithms: []string{s.Host.Type()},
		Config: ssh.Config{Ciphers: []string{ssh.CipherChaCha20Poly1305}}}) // what clients of OpenSSH choose
	denied := err != nil && strings.Contains(err.Error(), "unable to authenticate")
	switch {
	case denied && refused:
		return nil
	case denied:
		return errors.New("log in: permission denied")
	case err != nil:
		return fmt.Errorf("log in: %w", l.cause(err))
	}
	if refused {
		return errors.New("log in: a wrong password is taken")
	}
	go ssh.DiscardRequests(requests) // until the connection ends
	go func() {
		for one := range chans {
			one.Reject(ssh.Prohibited, "")
		}
	}()
	shell, more, err := over.OpenChannel("session", nil)
	if err != nil {
		return fmt.Errorf("open shell: %w", l.cause(err))
	}
	go ssh.DiscardRequests(more)
	ok, err := shell.SendRequest("shell", true, nil)
	if err == nil && !ok {
		err = errors.New("the service has none")
	}
	if err != nil {
		return fmt.Errorf("open shell: %w", l.cause(err))
	}
	l.shell = shell
	return nil
}
