package resolver

import (
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"pgregory.net/rapid"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/names"
)

// aside is a server without sockets and without name servers, and one who asks it.
func aside() (*server, *names.Asker) {
	listen, source := netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.1.0.2")
	n := names.Network{Name: "app", Listen: []netip.Addr{listen}, Subnets: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for i := range 100 {
		e := names.Endpoint{ID: heddle.EndpointID{Container: fmt.Sprint("c", i)}, Name: fmt.Sprint("n", i), Aliases: []string{"many"},
			Addrs: []netip.Addr{source, netip.MustParseAddr(fmt.Sprint("fd01::", i))}}
		n.Endpoints = append(n.Endpoints, e)
		source = source.Next()
	}
	l := DefaultLimits
	l.Rate, l.Burst = 1<<30, 1<<30
	s := newServer(Options{Dir: "/nowhere", ResolvConf: "/nowhere", UplinkConf: "/nowhere", Limits: l, Log: slog.New(slog.DiscardHandler)})
	s.table.Store(names.NewTable(names.NewIndex(n)))
	return s, s.table.Load().Asker(listen, netip.MustParseAddr("10.1.0.2"))
}

func seeds() (all [][]byte) {
	for _, text := range []string{"n1.", "many.", "many.app.heddle.internal.", "example.org.", "2.0.1.10.in-addr.arpa.", "1.0.0.0.1.0.d.f.ip6.arpa.", "."} {
		for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypePTR, dns.TypeANY, dns.TypeAXFR} {
			m := new(dns.Msg).SetQuestion(text, kind)
			all = append(all, packed(m), packed(m.SetEdns0(4096, true)))
		}
	}
	m := new(dns.Msg).SetQuestion("example.org.", dns.TypeA)
	m.Extra = []dns.RR{&dns.TSIG{Hdr: dns.RR_Header{Name: "k.", Rrtype: dns.TypeTSIG, Class: dns.ClassANY}, Algorithm: dns.HmacSHA256}}
	all = append(all, packed(m), make([]byte, headerSize), []byte{1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 0x0c, 0, 1, 0, 1})
	for _, whole := range slices.Clone(all)[:2] {
		for i := range whole {
			all = append(all, whole[:i])
		}
	}
	return all
}

// FuzzAnswer: whatever is sent, there is one reply that its sender can take, or none to what may be
// a reply.
func FuzzAnswer(f *testing.F) {
	for _, packet := range seeds() {
		f.Add(packet, false)
		f.Add(packet, true)
	}
	s, asker := aside()
	f.Fuzz(func(t *testing.T, packet []byte, tcp bool) {
		replies := make(chan []byte, 2)
		is := s.answer(asker, tcp, slices.Clone(packet), func(b []byte) { replies <- b })
		if question := len(packet) >= headerSize && packet[2]&0x80 == 0; is != question {
			t.Fatalf("replied: %v", is)
		}
		if !is {
			return
		}
		var reply []byte
		select {
		case reply = <-replies:
		case <-time.After(time.Minute):
			t.Fatal("no reply")
		}
		check(t, packet, reply, tcp)
		if r := refused(packet, tcp); r != nil {
			check(t, packet, r, tcp)
		}
	})
}

func check(t *testing.T, packet, reply []byte, tcp bool) {
	r, q := new(dns.Msg), new(dns.Msg)
	if err := r.Unpack(reply); err != nil {
		t.Fatalf("the reply %x is malformed: %v", reply, err)
	}
	bad := q.Unpack(packet) != nil
	if !r.Response || reply[0] != packet[0] || reply[1] != packet[1] || r.Opcode != int(packet[2]>>3)&0xf {
		t.Fatalf("%v is no reply to %x", r, packet)
	}
	if !bad && len(q.Question) == 1 && (len(r.Question) != 1 || r.Question[0] != q.Question[0]) {
		t.Fatalf("%v is no reply to %v", r, q)
	}
	most := minUDP
	if o := q.IsEdns0(); o != nil && !bad {
		most = max(min(int(o.UDPSize()), maxUDP), minUDP)
	}
	if !tcp && len(reply) > most {
		t.Fatalf("the reply has %d bytes, more than %d", len(reply), most)
	}
}

// FuzzReply: whatever a name server replies, the asker gets a reply that it can take.
func FuzzReply(f *testing.F) {
	for _, packet := range seeds() {
		if len(packet) > 2 {
			packet[2] |= 0x80
		}
		f.Add(packet)
	}
	s, asker := aside()
	asked := new(dns.Msg).SetQuestion("example.org.", dns.TypeA)
	f.Fuzz(func(t *testing.T, packet []byte) {
		for _, m := range []*dns.Msg{asked, asked.Copy().SetEdns0(600, true)} {
			r := new(dns.Msg)
			if r.Unpack(packet) != nil && !r.Truncated {
				return
			}
			answers(r, m.Question[0])
			r.Response = true // others are passed over
			points(r, s.table.Load())
			q := question{m, asker, false}
			check(t, packed(m), q.packForeign(returnable(q, r)), false)
		}
	})
}

// TestReversed: a reverse name is read as it is written.
func TestReversed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a netip.Addr
		if rapid.Bool().Draw(t, "v4") {
			a = netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")))
		} else {
			a = netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "address")))
		}
		name, err := dns.ReverseAddr(a.String())
		if err != nil {
			t.Skip(err) // IPv4 in IPv6
		}
		labels := dns.SplitDomainName(name)
		cut := rapid.IntRange(0, len(labels)-3).Draw(t, "labels left out")
		bits := a.BitLen() - cut*a.BitLen()/(len(labels)-2)
		for _, front := range []string{"", "x.", "256.", "07.", "_tcp."} {
			got, more, ok := reversed(front + strings.Join(labels[cut:], "."))
			if want := netip.PrefixFrom(a, bits).Masked(); !ok || got != want || more != (front != "") {
				t.Fatalf("%s%v: %v, %v, %v, want %v", front, labels[cut:], got, more, ok, want)
			}
		}
	})
	for _, none := range []string{"", "in-addr.arpa", ".in-addr.arpa", "x.in-addr.arpa", "256.in-addr.arpa", "g.ip6.arpa", "10.ip6.arpa", "1.2.3.4"} {
		if got, _, ok := reversed(none); ok {
			t.Errorf("%q is %v", none, got)
		}
	}
}
