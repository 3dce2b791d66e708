package resolver

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/names"
)

// maxQuery bounds a question, in bytes. What is longer is cut off, and cannot be read then.
const maxQuery = 4096

// errorPause keeps a socket that fails from using up a processor.
const errorPause = 10 * time.Millisecond

// serveUDP answers at an address until the socket is closed. What is known here is answered one
// question after the other, so that a flood waits in the kernel, whose buffers are bounded.
func (s *server) serveUDP(at netip.Addr, c *net.UDPConn) {
	buffer := make([]byte, maxQuery)
	for {
		n, from, err := c.ReadFromUDPAddrPort(buffer)
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			time.Sleep(errorPause)
			continue
		}
		asker := s.table.Load().Asker(at, from.Addr())
		if asker == nil {
			s.counts.foreign.Add(1)
			continue
		}
		s.answer(asker, false, buffer[:n], func(reply []byte) { c.WriteToUDPAddrPort(reply, from) })
	}
}

// answer sends one reply to a packet of an asker, now or when it has been forwarded. It reports
// whether there is one.
func (s *server) answer(asker *names.Asker, tcp bool, packet []byte, send func([]byte)) bool {
	account := s.accounts.of(asker.Container)
	if !account.questions(tcp).Allow() {
		s.counts.limited.Add(1)
		account.denied.tooFast.add()
		refusal := refused(packet, tcp)
		if refusal == nil || !account.refusals.Allow() {
			return false
		}
		send(refusal)
		return true
	}
	m, refusal := parse(packet)
	if m == nil {
		s.counts.malformed.Add(1)
		if refusal == nil {
			return false
		}
		send(packed(refusal))
		return true
	}
	q := question{m, asker, tcp}
	if r := q.local(); r != nil {
		s.counts.answered.Add(1)
		send(q.pack(r))
		return true
	}
	switch {
	case asker.Internal:
		s.counts.refused.Add(1)
		account.denied.noWayOut.add()
	case takeBoth(&account.forwards, &s.accounts.forwards):
		s.counts.forwarded.Add(1)
		s.forward(q, func(reply *dns.Msg) {
			send(q.packForeign(reply))
			account.forwards.give()
			s.accounts.forwards.give()
		})
		return true
	default:
		s.counts.limited.Add(1)
		account.denied.waiting.add()
	}
	send(q.pack(q.reply(dns.RcodeRefused)))
	return true
}

// The lengths of a label and of a name in a packet (RFC 1035, 2.3.4).
const maxLabel, maxName = 63, 255

// refused makes a refusal of a packet without parsing it: of its header and its question. By UDP it
// tells the asker to come by TCP, which nobody does with another's source. It is nil for what is no
// question.
func refused(packet []byte, tcp bool) []byte {
	if len(packet) < headerSize || packet[2]&0x80 != 0 {
		return nil
	}
	end := headerSize
	for end < len(packet) && packet[end] != 0 && packet[end] <= maxLabel {
		end += 1 + int(packet[end])
	}
	if end >= len(packet) || packet[end] != 0 || end-headerSize >= maxName {
		return nil
	}
	if end += 1 + 4; end > len(packet) { // the end of the name, type and class
		return nil
	}
	r := make([]byte, headerSize, end)
	copy(r, packet[:2])
	r[2] = packet[2]&0x79 | 0x80
	r[3] = 0x80 | dns.RcodeRefused
	if !tcp {
		r[2], r[3] = r[2]|0x02, 0x80
	}
	r[5] = 1
	return append(r, packet[headerSize:end]...)
}
