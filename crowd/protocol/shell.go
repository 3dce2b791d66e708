package protocol

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/ssh"
)

// steps are the lines of one letter.
const steps = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// SSHScript is a script for sh. It reads lines: how many letters to answer, how many bytes follow the line, and what fills it. What a key is
// answered by has no room for that: a line of one letter is for two letters, and as many times eight more as its place in steps is.
const SSHScript = `steps=` + steps + `
while read -r letters follow fill; do
  case $letters$follow in
  ?) before=${steps%%"$letters"*}; letters=$((8 * ${#before} + 2)) ;;
  *) [ "$follow" = 0 ] || head -c "$follow" >/dev/null ;;
  esac
  if [ "$letters" -gt 4096 ]; then head -c "$letters" /dev/zero; else printf "%${letters}s" ""; fi
done
`

// What packets have, in bytes.
const (
	// packetFrame is what one has beside its data (RFC 4253, 6; RFC 4254, 5.2; PROTOCOL.chacha20poly1305 of OpenSSH): its length, that of the
	// padding, the head of the data, the least padding, and the code that authenticates it. A packet but for its length and that code
	// is padded to a multiple of eight.
	packetFrame = 4 + 1 + 9 + 4 + 16
	// packetData is how much data one has at most.
	packetData = 32 << 10
	// longestLine is how large a line may be: sh reads each byte of it by itself. No source: a guess.
	longestLine = 512
)

// inPackets is how much data is in packets of a size in all.
func inPackets(size int64) int64 {
	packets := (size + packetFrame + packetData - 1) / (packetFrame + packetData)
	return size - packets*packetFrame
}

// line is a request for letters, that fills the room for it: what it begins with, and its size. The answer has a few letters more where the
// packet has room for them.
func line(room, letters int64) (head []byte, size, answer int64) {
	if step := max(0, (letters-2+7)/8); room <= 2 && step < int64(len(steps)) {
		return []byte{steps[step], '\n'}, 2, 2 + 8*step
	}
	follow := int64(0)
	if room > longestLine {
		follow = room - int64(len(fmt.Sprintf("%d %d \n", letters, room)))
	}
	head = fmt.Appendf(nil, "%d %d ", letters, follow)
	head = append(head, strings.Repeat("x", max(0, int(room-follow)-len(head)-1))+"\n"...)
	return head, int64(len(head)) + follow, letters
}

// login is a connection on which somebody has a shell, or will.
type login struct {
	net.Conn
	shell          ssh.Channel // nil before
	sent, received atomic.Int64

	mu   sync.Mutex
	died error // the first one of the connection below
}

// NetConn is the connection below.
func (l *login) NetConn() net.Conn { return l.Conn }

// cause is the error of the connection below, if it is what caused another one.
func (l *login) cause(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.died != nil {
		return l.died
	}
	return err
}

// wire is the connection below, which counts bytes, and keeps its first error: what is made over it ends without saying why.
func (l *login) wire() net.Conn { return wire{l.Conn, l} }

type wire struct {
	net.Conn
	of *login
}

func (w wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	w.of.received.Add(int64(n))
	w.of.keep(err)
	return n, err
}

func (w wire) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	w.of.sent.Add(int64(n))
	w.of.keep(err)
	return n, err
}

func (l *login) keep(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if l.died == nil && err != nil {
		l.died = err
	}
}
