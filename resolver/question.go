package resolver

import (
	"github.com/miekg/dns"

	"github.com/heddle-network/heddle/names"
)

// question is what a container asks.
type question struct {
	*dns.Msg
	asker *names.Asker
	tcp   bool
}

// The sizes of messages over UDP, in bytes: what needs no fragments, and what everybody takes.
const maxUDP, minUDP = 1232, dns.MinMsgSize

// headerSize is the length of a message's header.
const headerSize = 12

// parse reads a packet. If it is no question that can be answered, the message is nil, and refusal
// is what is replied, nil for nothing: who replies to replies makes a loop.
func parse(packet []byte) (m, refusal *dns.Msg) {
	if len(packet) < headerSize || packet[2]&0x80 != 0 {
		return nil, nil
	}
	m = new(dns.Msg)
	err := m.Unpack(packet)
	reject := func(code int) (*dns.Msg, *dns.Msg) {
		r := &dns.Msg{MsgHdr: dns.MsgHdr{Id: uint16(packet[0])<<8 | uint16(packet[1]), Response: true,
			Opcode: int(packet[2]>>3) & 0xf, RecursionDesired: packet[2]&1 != 0, RecursionAvailable: true, Rcode: code}}
		if err == nil && len(m.Question) == 1 {
			r.Question = m.Question
		}
		return nil, r
	}
	switch {
	case packet[2]>>3&0xf != dns.OpcodeQuery:
		return reject(dns.RcodeNotImplemented)
	case err != nil || len(m.Question) != 1:
		return reject(dns.RcodeFormatError)
	}
	if o := m.IsEdns0(); o != nil && o.Version() != 0 {
		_, r := reject(dns.RcodeBadVers)
		r.SetEdns0(maxUDP, false)
		return nil, r
	}
	if q := m.Question[0]; q.Qclass != dns.ClassINET || !ordinary(q.Qtype) {
		return reject(dns.RcodeRefused)
	}
	return m, nil
}

// ordinary reports whether records can have the type: transfers, signatures of messages and the
// like are for those who hold zones.
func ordinary(kind uint16) bool {
	return kind == dns.TypeANY || kind != 0 && kind != dns.TypeOPT && (kind < 128 || kind > 255)
}

// reply makes a reply to the question.
func (q question) reply(code int) *dns.Msg {
	r := new(dns.Msg)
	r.SetRcode(q.Msg, code)
	r.RecursionAvailable = true
	return r
}

// pack makes the reply's packet, no longer than the asker takes it. If no packet can hold the
// reply, it says that we failed.
func (q question) pack(r *dns.Msg) []byte {
	size := dns.MaxMsgSize
	if o := q.IsEdns0(); o != nil {
		if r.IsEdns0() == nil {
			r.SetEdns0(maxUDP, o.Do())
		}
		if !q.tcp {
			size = min(max(int(o.UDPSize()), minUDP), maxUDP)
		}
	} else if !q.tcp {
		size = minUDP
	}
	r.Compress = true
	r.Truncate(size)
	if text := packed(r); text != nil {
		return text
	}
	return packed(q.reply(dns.RcodeServerFailure))
}

// packForeign is pack for what others have said: records that were cut short could be read, and
// not be written.
func (q question) packForeign(r *dns.Msg) []byte {
	text := q.pack(r)
	if new(dns.Msg).Unpack(text) != nil {
		return q.pack(q.reply(dns.RcodeServerFailure))
	}
	return text
}

func packed(r *dns.Msg) []byte {
	text, err := r.Pack()
	if err != nil {
		return nil
	}
	return text
}
