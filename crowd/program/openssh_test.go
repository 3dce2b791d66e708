package program_test

import (
	"io"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/protocol"
)

// TestShellSizes: on the wire, requests and answers are as large as planned, up to the padding of packets; the first ones with
// key exchange and login.
func TestShellSizes(t *testing.T) {
	r := startWith(t, "openssh", program.Setting{})
	c, wire := r.wire(t)
	const padding = 8
	for _, x := range []protocol.Request{{Sends: 3000, Receives: 4000}, {Sends: 36, Receives: 36}, {Sends: 36, Receives: 44}, {Sends: 36, Receives: 45}, {Sends: 36, Receives: 524},
		{Sends: 44, Receives: 44}, {Sends: 100, Receives: 4000}, {Sends: 600, Receives: 36}, {Sends: 36, Receives: 36}} {
		wire.sent, wire.received = 0, 0
		if err := r.Ask(c, x); err != nil {
			t.Fatalf("%+v: %v", x, err)
		}
		if wire.sent < x.Sends || wire.sent >= x.Sends+padding || wire.received < x.Receives || wire.received >= x.Receives+padding {
			t.Errorf("%+v: %d bytes were sent, %d received", x, wire.sent, wire.received)
		}
	}
	for _, x := range []protocol.Request{{Sends: 30_000, Receives: 5000}, {Sends: 100, Receives: 20_000}, {Sends: 3_000_001, Receives: 1000}, {Sends: 36, Receives: 20_000_017}, {}} {
		wire.sent, wire.received = 0, 0
		if err := r.Ask(c, x); err != nil {
			t.Fatalf("%+v: %v", x, err)
		}
		// Packets are not all full, and a window is moved once at most for each packet of 32 KiB, in 52 bytes.
		most := func(size, other int64) int64 { return size + size/100 + other/600 + 100 }
		if wire.sent < x.Sends || wire.sent > most(x.Sends, x.Receives) || wire.received < x.Receives || wire.received > most(x.Receives, x.Sends) {
			t.Errorf("%+v: %d bytes were sent, %d received", x, wire.sent, wire.received)
		}
	}
}

// TestShellRefuses: a wrong password is refused, also if it should not be; another service is noticed.
func TestShellRefuses(t *testing.T) {
	r, other := startWith(t, "openssh", program.Setting{}), startWith(t, "openssh", program.Setting{})
	c, _ := r.wire(t)
	if err := r.Ask(c, protocol.Request{Refused: true}); err != nil {
		t.Errorf("a wrong password: %v", err)
	}
	for want, change := range map[string]func(*protocol.SSH){
		"permission denied": func(s *protocol.SSH) { s.Password = "another" },
		"host key mismatch": func(s *protocol.SSH) { s.Host = other.Protocol.(protocol.SSH).Host },
	} {
		speaks := r.Protocol.(protocol.SSH)
		change(&speaks)
		c, _ := r.wire(t)
		if err := speaks.Ask(c, protocol.Request{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %s", err, want)
		}
	}
}

// TestShellStrangers: who does not have the password does not come in, whoever that says to be; who comes in has the script, and nothing else.
func TestShellStrangers(t *testing.T) {
	r := startWith(t, "openssh", program.Setting{})
	speaks := r.Protocol.(protocol.SSH)
	for _, user := range []string{"nobody", "root", "stranger"} {
		_, _, _, err := ssh.NewClientConn(r.approach(t), "", &ssh.ClientConfig{User: user, HostKeyCallback: ssh.FixedHostKey(speaks.Host),
			Auth: []ssh.AuthMethod{ssh.Password(""), ssh.Password("nobody")}})
		if err == nil || !strings.Contains(err.Error(), "unable to authenticate") {
			t.Errorf("%s: %v", user, err)
		}
	}
	c, err := r.dial()
	if err != nil {
		t.Fatal(err)
	}
	over, chans, requests, err := ssh.NewClientConn(c, "", &ssh.ClientConfig{User: speaks.User, HostKeyCallback: ssh.FixedHostKey(speaks.Host),
		Auth: []ssh.AuthMethod{ssh.Password(speaks.Password)}})
	if err != nil {
		t.Fatal(err)
	}
	client := ssh.NewClient(over, chans, requests)
	defer client.Close()
	if _, err := client.Dial("tcp", "127.0.0.1:22"); err == nil {
		t.Error("it forwards connections")
	}
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	in, err := session.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := session.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.Start("echo another command"); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, "0\n3 0\n5 2\nxx7 0 fill\n")
	in.Close()
	if got, err := io.ReadAll(out); err != nil || string(got) != strings.Repeat(" ", 2+3+5+7) {
		t.Errorf("%q, %v", got, err)
	}
}
