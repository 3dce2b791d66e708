package resolver

import (
	"cmp"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sys/unix"
)

// What a line is used for, at most: so many questions, for so long. A line that has got so many
// packets that answer no question of it is given up, since somebody guesses.
const (
	lineQuestions = 64
	lineTime      = 2 * time.Second
	lineWrong     = 8
)

// line is a UDP socket that is connected with a name server. The kernel gives it a random port, and
// packets of that server alone. Questions share it, each with a random ID that no other one has.
type line struct {
	conn       *net.UDPConn
	countWrong func() // is called for each packet that answers no question
	old        *time.Timer

	mu      sync.Mutex
	waiting map[uint16]*ask
	past    map[uint16]*ask // nobody waits for these any more; their answers may come late, or twice
	asked   int
	wrongs  int
	ended   bool // it takes no more questions, and is closed with its last one
	closed  bool
}

// ask is a question to one name server. Its outcome is told once.
type ask struct {
	by       netip.AddrPort
	question dns.Question
	told     func(answered)
	line     *line
	id       uint16
}

// answered is what has come of asking a name server: the reply is nil if there is none.
type answered struct {
	ask   *ask
	reply *dns.Msg
	byTCP bool
	// lost is whether the name server can still answer, by TCP.
	lost bool
}

func newLine(server netip.AddrPort, countWrong func()) (*line, error) {
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(server))
	if err != nil {
		return nil, err
	}
	l := &line{conn: conn, countWrong: countWrong, waiting: map[uint16]*ask{}, past: map[uint16]*ask{}}
	l.old = time.AfterFunc(lineTime, l.end)
	go l.read()
	return l, nil
}

// take takes a question, and gives it its ID. It reports whether the line still takes questions.
func (l *line) take(a *ask) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return false
	}
	a.line, a.id = l, dns.Id()
	for l.waiting[a.id] != nil || l.past[a.id] != nil {
		a.id = dns.Id()
	}
	l.waiting[a.id] = a
	l.asked++
	l.ended = l.asked == lineQuestions
	return true
}

// send sends a question that was taken, and reports false if it could not be sent. The others that wait on
// the line have failed, too, if that is so for all packets.
func (l *line) send(a *ask, packet []byte) bool {
	binary.BigEndian.PutUint16(packet, a.id)
	_, err := l.conn.Write(packet)
	if err == nil {
		return true
	}
	untold := l.forget(a)
	if ofServer(err) {
		l.close(false)
	}
	return !untold
}

// ofServer reports whether an error of the socket says that the name server cannot be reached. Others are about
// one packet: a firewall drops it, or it is too large for the way.
func ofServer(err error) bool {
	for _, e := range []unix.Errno{unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.ENETDOWN} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// forget has the line wait no more for an answer, and reports whether it did.
func (l *line) forget(a *ask) bool {
	l.mu.Lock()
	waited := l.waiting[a.id] == a
	if waited {
		delete(l.waiting, a.id)
		l.past[a.id] = a
	}
	last := l.ended && len(l.waiting) == 0
	l.mu.Unlock()
	if last {
		l.close(false)
	}
	return waited
}

// end has the line take no more questions.
func (l *line) end() {
	l.mu.Lock()
	l.ended = true
	last := len(l.waiting) == 0
	l.mu.Unlock()
	if last {
		l.close(false)
	}
}

// close closes the line. What waits for an answer has failed, or is lost.
func (l *line) close(lost bool) {
	l.mu.Lock()
	waiting, closed := l.waiting, l.closed
	l.waiting, l.ended, l.closed = nil, true, true
	l.mu.Unlock()
	if closed {
		return
	}
	l.old.Stop()
	l.conn.Close()
	for _, a := range waiting {
		go a.told(answered{ask: a, lost: lost}) // who closes the line may be one of them
	}
}

// read takes answers until the line is closed.
func (l *line) read() {
	buffer := make([]byte, maxQuery)
	for {
		n, err := l.conn.Read(buffer)
		if errors.Is(err, unix.EMSGSIZE) {
			continue // a router has said that one question is too large for the way
		}
		if err != nil {
			l.close(!ofServer(err))
			return
		}
		l.receive(buffer[:n])
	}
}

// receive passes an answer on to who waits for it, if anybody still does. What answers no question that was
// asked here is counted.
func (l *line) receive(packet []byte) {
	if a := l.asks(packet); a != nil {
		r := new(dns.Msg)
		if err := r.Unpack(packet); answers(r, a.question) && (err == nil || r.Truncated) {
			if l.forget(a) {
				a.told(answered{ask: a, reply: r})
			}
			return
		}
	}
	l.countWrong()
	l.mu.Lock()
	l.wrongs++
	guessed := l.wrongs == lineWrong
	l.mu.Unlock()
	if guessed {
		l.close(true)
	}
}

// asks is the question that was asked here with a packet's ID.
func (l *line) asks(packet []byte) *ask {
	if len(packet) < headerSize {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	id := binary.BigEndian.Uint16(packet)
	return cmp.Or(l.waiting[id], l.past[id])
}
