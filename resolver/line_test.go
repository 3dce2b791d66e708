package resolver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/test/cell"
	"github.com/heddle-network/heddle/test/world"
)

// speaker is a name server that says what the test has it say.
type speaker struct {
	*net.UDPConn
	at netip.AddrPort
}

// heard is a question that a speaker has got.
type heard struct {
	*dns.Msg
	from netip.AddrPort
}

func newSpeaker(t *testing.T, addr string) *speaker {
	t.Helper()
	cell.Need(t)
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(addr)))
	cell.Must(t, err)
	t.Cleanup(func() { c.Close() })
	return &speaker{c, netip.MustParseAddrPort(c.LocalAddr().String())}
}

func (s *speaker) hear(t *testing.T) heard {
	t.Helper()
	s.SetReadDeadline(time.Now().Add(time.Minute))
	buffer, m := make([]byte, maxQuery), new(dns.Msg)
	n, from, err := s.ReadFromUDPAddrPort(buffer)
	cell.Must(t, errors.Join(err, m.Unpack(buffer[:n])))
	return heard{m, from}
}

// say sends a message to who has asked.
func (s *speaker) say(t *testing.T, to heard, r *dns.Msg) {
	t.Helper()
	_, err := s.WriteToUDPAddrPort(packed(r), to.from)
	cell.Must(t, err)
}

// reply is the right answer to a question, with a text.
func (h heard) reply(text string) *dns.Msg {
	r := new(dns.Msg).SetReply(h.Msg)
	hdr := dns.RR_Header{Name: h.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET}
	r.Answer = []dns.RR{&dns.TXT{Hdr: hdr, Txt: []string{text}}}
	return r
}

// forged are replies that do not answer a question.
func (h heard) forged() (all []*dns.Msg) {
	for _, change := range []func(*dns.Msg){
		func(r *dns.Msg) { r.Id++ },
		func(r *dns.Msg) { r.Response = false },
		func(r *dns.Msg) { r.Opcode = dns.OpcodeNotify },
		func(r *dns.Msg) { r.Question[0].Name = "example.net." },
		func(r *dns.Msg) { r.Question[0].Qtype = dns.TypeAAAA },
		func(r *dns.Msg) { r.Question[0].Qclass = dns.ClassCHAOS },
		func(r *dns.Msg) { r.Question = nil },
	} {
		r := h.reply("forged")
		change(r)
		all = append(all, r)
	}
	return all
}

// asks has a server ask for a name, and returns where the text of the answer comes, or "none".
func asks(s *server, name string, servers ...*speaker) <-chan string {
	var at []netip.AddrPort
	for _, one := range servers {
		at = append(at, one.at)
	}
	said := make(chan string, 1)
	s.askAll(at, question{new(dns.Msg).SetQuestion(name, dns.TypeTXT), nil, false}, func(r *dns.Msg) {
		if r == nil {
			said <- "none"
			return
		}
		said <- r.Answer[0].(*dns.TXT).Txt[0]
	})
	return said
}

// outside is a server whose lines are closed at the end of the test.
func outside(t *testing.T) *server {
	s, _ := aside()
	t.Cleanup(s.lines.close)
	return s
}

func expect(t *testing.T, said <-chan string, want string) {
	t.Helper()
	select {
	case got := <-said:
		if got != want {
			t.Errorf("the answer is %q, want %q", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatal("no answer")
	}
}

// TestLineForged: an answer is taken from who was asked, with the ID and the words of the question, and
// others cannot tell the port of a line from one that is closed.
func TestLineForged(t *testing.T) {
	far, s := newSpeaker(t, "127.0.0.1:0"), outside(t)
	said := asks(s, "example.org.", far)
	q := far.hear(t)
	for _, r := range q.forged() {
		far.say(t, q, r)
	}
	for _, local := range []string{"127.0.0.1:0", fmt.Sprint("127.0.0.2:", far.at.Port())} { // another port, another address
		c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(local)), net.UDPAddrFromAddrPort(q.from))
		cell.Must(t, err)
		defer c.Close()
		_, err = c.Write(packed(q.reply("forged")))
		cell.Must(t, err)
		c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s is told %v", local, err)
		}
	}
	r := q.reply("true")
	r.Question[0].Name = "Example.ORG."
	far.say(t, q, r)
	expect(t, said, "true")
	if got, want := s.counts.wrong.Load(), uint64(len(q.forged())); got != want {
		t.Errorf("%d wrong answers are counted, want %d", got, want)
	}
}

// TestLineLate: the answer to a question that was given up answers no later one. However often it comes,
// nobody has guessed, and the line stays.
func TestLineLate(t *testing.T) {
	far := newSpeaker(t, "127.0.0.1:0")
	l, err := newLine(far.at, func() { t.Error("an answer is counted as wrong") })
	cell.Must(t, err)
	defer l.close(false)
	results := make(chan answered, 2)
	send := func() (*ask, heard) {
		m := new(dns.Msg).SetQuestion("example.org.", dns.TypeTXT)
		a := &ask{question: m.Question[0], told: func(got answered) { results <- got }}
		if !l.take(a) || !l.send(a, packed(m)) {
			t.Fatal("the line takes no question")
		}
		return a, far.hear(t)
	}
	early, first := send()
	if !l.forget(early) || l.forget(early) {
		t.Error("a question is forgotten once")
	}
	later, second := send()
	if first.from != second.from {
		t.Errorf("the ports are %v and %v", first.from, second.from)
	}
	for range 2 * lineWrong {
		far.say(t, first, first.reply("late"))
	}
	far.say(t, second, second.reply("true"))
	far.say(t, second, second.reply("twice"))
	if got := <-results; got.ask != later || got.reply.Answer[0].(*dns.TXT).Txt[0] != "true" {
		t.Errorf("the outcome is %+v", got)
	}
}

// TestLineOnePacket: an error about one packet, as where the host's firewall drops it, fails that question and no
// other one on the line.
func TestLineOnePacket(t *testing.T) {
	far := newSpeaker(t, "127.0.0.1:0")
	l, err := newLine(far.at, func() { t.Error("an answer is counted as wrong") })
	cell.Must(t, err)
	defer l.close(false)
	results := make(chan answered, 2)
	take := func(m *dns.Msg) *ask {
		a := &ask{question: m.Question[0], told: func(got answered) { results <- got }}
		if !l.take(a) {
			t.Fatal("the line takes no question")
		}
		return a
	}
	small := new(dns.Msg).SetQuestion("example.org.", dns.TypeTXT)
	waits := take(small)
	if !l.send(waits, packed(small)) {
		t.Fatal("not sent")
	}
	heard := far.hear(t)
	cell.Sh(t, "nft 'add table inet lines; add chain inet lines out { type filter hook output priority 0; }; add rule inet lines out udp dport %d udp length > 200 drop'", far.at.Port())
	t.Cleanup(func() { cell.Sh(t, "nft delete table inet lines") })
	large := new(dns.Msg).SetQuestion("example.org.", dns.TypeTXT)
	large.Extra = []dns.RR{&dns.OPT{Hdr: dns.RR_Header{Name: ".", Rrtype: dns.TypeOPT}, Option: []dns.EDNS0{&dns.EDNS0_LOCAL{Code: dns.EDNS0LOCALSTART, Data: make([]byte, 300)}}}}
	if l.send(take(large), packed(large)) {
		t.Error("a packet that is dropped counts as sent")
	}
	far.say(t, heard, heard.reply("true"))
	if got := <-results; got.ask != waits || got.reply == nil {
		t.Errorf("the outcome is %+v", got)
	}
}

// TestLineGuessed: a line that gets many wrong answers is given up, and its question asked again by TCP.
func TestLineGuessed(t *testing.T) {
	far, s := newSpeaker(t, "127.0.0.1:0"), outside(t)
	tcp, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(far.at))
	cell.Must(t, err)
	t.Cleanup(func() { tcp.Close() })
	said := asks(s, "example.org.", far)
	first := far.hear(t)
	for range lineWrong {
		r := first.reply("guessed")
		r.Id++
		far.say(t, first, r)
	}
	tcp.SetDeadline(time.Now().Add(time.Minute))
	conn, err := tcp.Accept()
	cell.Must(t, err)
	t.Cleanup(func() { conn.Close() })
	again := &dns.Conn{Conn: conn}
	asked, err := again.ReadMsg()
	cell.Must(t, err)
	far.say(t, first, first.reply("guessed")) // the right ID, too late
	cell.Must(t, again.WriteMsg(heard{Msg: asked}.reply("true")))
	expect(t, said, "true")
}

// TestLineIDs: no two questions on a line have the same ID, also if one is past.
func TestLineIDs(t *testing.T) {
	l := &line{waiting: map[uint16]*ask{}, past: map[uint16]*ask{}}
	for id := range 1 << 15 {
		l.waiting[uint16(2*id)], l.past[uint16(2*id+1)] = &ask{}, &ask{}
	}
	delete(l.past, 4711)
	if a := (&ask{}); !l.take(a) || a.id != 4711 {
		t.Errorf("the ID is %d", a.id)
	}
}

// TestLineBound: a line takes a bounded number of questions, and is closed with the last answer.
func TestLineBound(t *testing.T) {
	far := newSpeaker(t, "127.0.0.1:0")
	l, err := newLine(far.at, func() {})
	cell.Must(t, err)
	t.Cleanup(func() { l.close(false) })
	var all [lineQuestions + 1]ask
	for i := range all {
		all[i].told = func(answered) {}
	}
	for i := range lineQuestions {
		if !l.take(&all[i]) {
			t.Fatalf("it takes %d questions", i)
		}
	}
	if l.take(&all[lineQuestions]) {
		t.Fatalf("it takes more than %d questions", lineQuestions)
	}
	closed := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.closed
	}
	for i := range lineQuestions {
		if closed() {
			t.Fatalf("it is closed after %d answers", i)
		}
		l.forget(&all[i])
	}
	if !closed() {
		t.Error("it is open after its last answer")
	}
}

// TestLineMany: of many questions at once each gets its own answer, by many lines. All are closed soon after.
func TestLineMany(t *testing.T) {
	const many, each = 64, 40
	far, s := newSpeaker(t, "127.0.0.1:0"), outside(t)
	before := openFiles(t)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			for k := range each {
				name := fmt.Sprintf("n%d.%d.example.", k, i)
				if got := <-asks(s, name, far); got != name {
					t.Errorf("%s is answered %q", name, got)
				}
			}
		})
	}
	ports := make(chan int)
	go func() { ports <- far.echo(t) }()
	all.Wait()
	far.Close()
	// More lines than these have asked: those that are open at the end did not ask their last question. So it
	// does not matter that the kernel may give a closed line's port to another one.
	if n := <-ports; n < many*each/lineQuestions {
		t.Errorf("there were %d ports", n)
	}
	world.Soon(t, "the lines are closed", func() error {
		if n := openFiles(t); n >= before { // the speaker is closed, too
			return fmt.Errorf("%d files are open, %d were", n, before)
		}
		return nil
	})
}

// echo answers each question with its name, some at a time and in no order, until the speaker is closed.
// It returns how many ports have asked.
func (s *speaker) echo(t *testing.T) int {
	asked := map[netip.AddrPort]bool{}
	var some []heard
	for buffer := make([]byte, maxQuery); ; {
		s.SetReadDeadline(time.Now().Add(time.Millisecond))
		n, from, err := s.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return len(asked)
		}
		if m := new(dns.Msg); err == nil && m.Unpack(buffer[:n]) == nil {
			some = append(some, heard{m, from})
			asked[from] = true
		}
		if err == nil && len(some) < 20 {
			continue
		}
		rand.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		for _, q := range some {
			s.say(t, q, q.reply(q.Question[0].Name))
		}
		some = some[:0]
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	cell.Must(t, err)
	return len(all)
}

// TestLineEnds: when a name server ends in the middle, all that waits for it is asked elsewhere at
// once. It is asked again when it is back.
func TestLineEnds(t *testing.T) {
	far, other, s := newSpeaker(t, "127.0.0.1:0"), newSpeaker(t, "127.0.0.3:0"), outside(t)
	early := asks(s, "early.example.", far, other)
	far.hear(t)
	far.Close()
	expect(t, asks(s, "alone.example.", far), "none")
	var same []<-chan string // each tells the line that it takes
	for range 4 * lineCount {
		same = append(same, asks(s, "next.example.", far, other))
	}
	go other.echo(t)
	expect(t, early, "early.example.")
	for _, said := range same {
		expect(t, said, "next.example.")
	}
	back := newSpeaker(t, far.at.String())
	said := asks(s, "back.example.", back)
	q := back.hear(t)
	back.say(t, q, q.reply("back"))
	expect(t, said, "back")
}

// TestLineSilent: a question without an answer is asked again from another port. The answer to the
// first one still counts.
func TestLineSilent(t *testing.T) {
	far, s := newSpeaker(t, "127.0.0.1:0"), outside(t)
	said := asks(s, "example.org.", far)
	first := far.hear(t)
	var used []netip.AddrPort
	for range 2 {
		q := far.hear(t)
		used = append(used, q.from)
	}
	if used[0] == first.from || used[1] == used[0] || used[1] == first.from {
		t.Errorf("it is asked from %v, then from %v", first.from, used)
	}
	far.say(t, first, first.reply("true"))
	expect(t, said, "true")
}

// TestLineNoWay: a name server that no packet can be sent to fails at once.
func TestLineNoWay(t *testing.T) {
	cell.Need(t)
	away := &speaker{at: netip.MustParseAddrPort("192.0.2.99:53")}
	expect(t, asks(outside(t), "example.org.", away), "none")
}
