package managers_test

import (
	"bufio"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// commandTime limits a command in the machine, and bootTime its boot.
const (
	commandTime = 3 * time.Minute
	bootTime    = 10 * time.Minute
)

// shell is a shell in the machine, over a port of QEMU's. It does one command after another.
type shell struct {
	conn  net.Conn
	out   *bufio.Reader
	count int
}

// dial waits until the machine has booted, and its shell answers.
func dial(t *testing.T, socket string) *shell {
	t.Helper()
	start, s := time.Now(), &shell{}
	world.Within(t, bootTime, "QEMU is there", func() (err error) {
		s.conn, err = net.Dial("unix", socket)
		return err
	})
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() { s.conn.Close() })
	s.out = bufio.NewReader(s.conn)
	cell.Must(t, s.conn.SetDeadline(time.Now().Add(bootTime)))
	if out, err := s.try("while ! [ -e /run/cloud-init/result.json ]; do sleep 1; done"); err != nil {
		t.Fatalf("the machine does not boot: %v %s", err, out)
	}
	t.Logf("the machine has booted: %.0f s", time.Since(start).Seconds())
	return s
}

// run runs commands, the last of which must succeed, and returns what they print.
func (s *shell) run(t *testing.T, commands string) string {
	t.Helper()
	out, err := s.attempt(commands)
	if err != nil {
		t.Fatalf("%s: %v\n%s", commands, err, out)
	}
	return out
}

// attempt is run for commands that may fail.
func (s *shell) attempt(commands string) (string, error) {
	if err := s.conn.SetDeadline(time.Now().Add(commandTime)); err != nil {
		return "", err
	}
	return s.try(commands)
}

func (s *shell) try(commands string) (string, error) {
	s.count++
	end := fmt.Sprintf("END-OF-%d ", s.count)
	// the word is split, so that a message that quotes the line does not end it
	if _, err := fmt.Fprintf(s.conn, "( %s\n) </dev/null 2>&1; echo END-'OF-%d' $?\n", commands, s.count); err != nil {
		return "", err
	}
	var out strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			return out.String(), err
		}
		if text, code, found := strings.Cut(line, end); found {
			out.WriteString(text)
			if n, err := strconv.Atoi(strings.TrimSpace(code)); err != nil || n != 0 {
				return out.String(), fmt.Errorf("exit code %s", code)
			}
			return out.String(), nil
		}
		out.WriteString(line)
	}
}
