package capture

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/heddle-network/heddle/crowd/socket"
	"github.com/heddle-network/heddle/test/namespace"
)

// pair is two users whose interfaces are the ends of a cable; the first has 10.9.0.1.
func pair(t *testing.T) (one, other socket.Namespace) {
	t.Helper()
	holder := namespace.Holder(t)
	one, other = namespace.In(t, holder), namespace.In(t, holder)
	for _, line := range []string{"--net=" + one.Path() + " ip link add eth0 type veth peer name eth0 netns " + other.Path(),
		"--net=" + one.Path() + " ip address add 10.9.0.1/24 dev eth0", "--net=" + other.Path() + " ip address add 10.9.0.2/24 dev eth0",
		"--net=" + one.Path() + " ip link set eth0 up", "--net=" + other.Path() + " ip link set eth0 up"} {
		if out, err := exec.Command("nsenter", strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	return one, other
}

// say sends words from one user to the other, and back, so many times.
func say(t *testing.T, one, other socket.Namespace, words string, times int) {
	t.Helper()
	at := netip.MustParseAddrPort("10.9.0.2:99")
	var here net.PacketConn
	if err := other.Do(func() (err error) { here, err = net.ListenPacket("udp", at.String()); return err }); err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	var c net.Conn
	if err := one.Do(func() (err error) { c, err = net.Dial("udp", at.String()); return err }); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range times {
		b := make([]byte, 2000)
		here.SetReadDeadline(time.Now().Add(5 * time.Second))
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Write([]byte(words)); err != nil {
			t.Fatal(err)
		}
		n, from, err := here.ReadFrom(b)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := here.WriteTo(b[:n], from); err != nil {
			t.Fatal(err)
		}
		if n, err = c.Read(b); err != nil || string(b[:n]) != words {
			t.Fatalf("%q, %v", b[:n], err)
		}
	}
}

// section is what is read of a section.
type section struct {
	comment string
	names   []string
	// with counts the packets of each interface that have the words, whole those that are there whole.
	with, whole map[string]int
	dropped     uint64
}

// read reads a file's sections.
func read(t *testing.T, file []byte, words string) (all []section) {
	t.Helper()
	now := section{with: map[string]int{}, whole: map[string]int{}}
	end := func(has []pcapgo.NgInterface, info pcapgo.NgSectionInfo) {
		now.comment = info.Comment
		for _, one := range has {
			now.names = append(now.names, one.Name)
		}
		all, now = append(all, now), section{with: map[string]int{}, whole: map[string]int{}}
	}
	r, err := pcapgo.NewNgReader(bytes.NewReader(file), pcapgo.NgReaderOptions{WantMixedLinkType: true, SectionEndCallback: end,
		StatisticsCallback: func(_ int, s pcapgo.NgInterfaceStatistics) { now.dropped += s.PacketsDropped }})
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, ci, err := r.ReadPacketData()
		if err == io.EOF {
			var last []pcapgo.NgInterface
			for i := range r.NInterfaces() {
				one, err := r.Interface(i)
				if err != nil {
					t.Fatal(err)
				}
				last = append(last, one)
			}
			end(last, r.SectionInfo())
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		of, err := r.Interface(ci.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		if age := time.Since(ci.Timestamp); age < 0 || age > time.Hour {
			t.Errorf("a packet is from %s", ci.Timestamp)
		}
		if bytes.Contains(data, []byte(words)) {
			now.with[of.Name]++
		}
		if len(data) == ci.Length {
			now.whole[of.Name]++
		}
	}
}

// TestCapture: each user's packets are there, those that it sends and those that it gets, under its name, from Add to Take or Close; each capture
// is a section of the file.
func TestCapture(t *testing.T) {
	one, other := pair(t)
	file := &bytes.Buffer{}
	c := New(file, "first", 0)
	for user, n := range map[int]socket.Namespace{1: one, 2: other} {
		if err := c.Add(user, map[int]string{1: "ada", 2: "bob"}[user], n, "eth0"); err != nil {
			t.Fatal(err)
		}
	}
	say(t, one, other, "hello there", 10)
	c.Take(2, 3)
	say(t, one, other, "hello there", 10)
	count, err := c.Close()
	if err != nil || count.Packets < 60 || count.Bytes < 60*50 || count.Dropped != 0 {
		t.Errorf("%+v, %v", count, err)
	}
	say(t, one, other, "hello there", 1)
	if again, err := c.Close(); again != count || err != nil {
		t.Errorf("%+v, then %+v, %v", count, again, err)
	}
	c = New(file, "second", 50)
	if err := c.Add(7, "eve", one, "eth0"); err != nil {
		t.Fatal(err)
	}
	say(t, one, other, "hello there", 5)
	if _, err := c.Close(); err != nil {
		t.Fatal(err)
	}
	all := read(t, file.Bytes(), "hello th")
	if len(all) != 2 || all[0].comment != "first" || all[0].with["ada"] != 40 || all[0].with["bob"] != 20 || all[0].whole["ada"] < 40 || len(all[0].names) != 2 {
		t.Fatalf("%+v", all)
	}
	if s := all[1]; s.comment != "second" || s.with["eve"] != 10 || s.whole["eve"] > 4 || len(s.names) != 1 {
		t.Errorf("%+v", s) // 14 of Ethernet, 20 of IPv4, 8 of UDP, and 8 of the words
	}
}

// TestDropped: what the kernel drops is counted, in the file as well.
func TestDropped(t *testing.T) {
	one, other := pair(t)
	file := &bytes.Buffer{}
	slow := &stalled{to: file, goOn: make(chan struct{})}
	c := New(slow, "", 0)
	if err := c.Add(1, "ada", one, "eth0"); err != nil {
		t.Fatal(err)
	}
	say(t, one, other, strings.Repeat("many words ", 120), 5000) // 8 MiB wait at most
	close(slow.goOn)
	count, err := c.Close()
	if err != nil || count.Dropped == 0 || count.Packets == 0 || count.Packets+count.Dropped < 10000 {
		t.Errorf("%+v, %v", count, err)
	}
	if all := read(t, file.Bytes(), "words"); len(all) != 1 || all[0].dropped != count.Dropped {
		t.Errorf("%+v; %d were dropped", all, count.Dropped)
	}
}

// stalled does not write until it goes on.
type stalled struct {
	to   io.Writer
	goOn chan struct{}
}

func (s *stalled) Write(b []byte) (int, error) {
	<-s.goOn
	return s.to.Write(b)
}

var errFull = errors.New("it is full")

// full takes so many bytes.
type full int

func (f *full) Write(b []byte) (int, error) {
	if *f -= full(len(b)); *f < 0 {
		return 0, errFull
	}
	return len(b), nil
}

// TestFull: a disk that is full is told at the end, and what was captured until then stays.
func TestFull(t *testing.T) {
	one, other := pair(t)
	room := full(10000)
	c := New(&room, "", 0)
	if err := c.Add(1, "ada", one, "eth0"); err != nil {
		t.Fatal(err)
	}
	say(t, one, other, "hello there", 200)
	if count, err := c.Close(); !errors.Is(err, errFull) || count.Packets+count.Unwritten < 400 || count.Packets == 0 || count.Unwritten == 0 {
		t.Errorf("%+v, %v", count, err)
	}
}

// TestNone: nil captures nothing; a device that is not there is told.
func TestNone(t *testing.T) {
	one, _ := pair(t)
	var none *Capture
	none.Take(1)
	if count, err := none.Close(); count != (Count{}) || err != nil || none.Add(1, "ada", one, "eth0") != nil {
		t.Errorf("%+v, %v", count, err)
	}
	c := New(io.Discard, "", 0)
	if err := c.Add(1, "ada", one, "eth1"); err == nil || !strings.Contains(err.Error(), "capture the packets of ada: ") {
		t.Error(err)
	}
	if _, err := c.Close(); err != nil {
		t.Error(err)
	}
}
