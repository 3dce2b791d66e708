package dhcp

import (
	"encoding/binary"
	"encoding/hex"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
)

// Message6 is what is read of a DHCPv6 server's answer (RFC 8415).
type Message6 struct {
	Type   dhcpv6.MessageType
	XID    uint32
	Client netip.Addr // the link-local address that it is sent to
	// ClientDUID and Server are DUIDs, in hexadecimal digits.
	ClientDUID, Server string
	// IAs are by IAID.
	IAs map[[4]byte]Association
	// Status is of the whole message.
	Status iana.StatusCode
}

// Association is what a server says of an identity association for addresses (IA_NA).
type Association struct {
	Status    iana.StatusCode
	T1, T2    time.Duration
	Addresses []LeasedAddress
}

// LeasedAddress is one of its addresses. A server ends it with times of 0.
type LeasedAddress struct {
	Address          netip.Addr
	Preferred, Valid time.Duration
}

// parseMessage6 reads an answer; nil if it is none. Options that are not named here are ignored.
func parseMessage6(payload []byte, client netip.Addr) *Message6 {
	p, err := dhcpv6.MessageFromBytes(payload)
	if err != nil || p.MessageType != dhcpv6.MessageTypeAdvertise && p.MessageType != dhcpv6.MessageTypeReply {
		return nil
	}
	m := &Message6{Type: p.MessageType, XID: binary.BigEndian.Uint32(payload) & 0xffffff, Client: client,
		ClientDUID: duidText(p.Options.ClientID()), Server: duidText(p.Options.ServerID()), IAs: map[[4]byte]Association{}, Status: status(p.Options.Status())}
	for _, ia := range p.Options.IANA() {
		if _, twice := m.IAs[ia.IaId]; twice || len(m.IAs) == maxList {
			continue
		}
		a := Association{Status: status(ia.Options.Status()), T1: ia.T1, T2: ia.T2}
		for _, one := range ia.Options.Addresses() {
			if ip, ok := netip.AddrFromSlice(one.IPv6Addr); ok && len(a.Addresses) < maxList && status(one.Options.Status()) == iana.StatusSuccess {
				a.Addresses = append(a.Addresses, LeasedAddress{ip, one.PreferredLifetime, one.ValidLifetime})
			}
		}
		m.IAs[ia.IaId] = a
	}
	return m
}

// status is success if it is not said (RFC 8415, 21.13).
func status(o *dhcpv6.OptStatusCode) iana.StatusCode {
	if o == nil {
		return iana.StatusSuccess
	}
	return o.StatusCode
}

// duidText is a DUID in hexadecimal digits, "" if it is none (RFC 8415, 11.1: at most 130 bytes).
func duidText(d dhcpv6.DUID) string {
	if d == nil {
		return ""
	}
	if b := d.ToBytes(); len(b) > 2 && len(b) <= 130 {
		return hex.EncodeToString(b)
	}
	return ""
}

// longestElapsed is the most that the option for it says (RFC 8415, 21.9).
const longestElapsed = 0xffff * 10 * time.Millisecond

// request6 is a message to DHCPv6 servers.
type request6 struct {
	kind    dhcpv6.MessageType
	xid     uint32
	server  string     // "" to all servers
	address netip.Addr // that is wished for, or had
	elapsed time.Duration
}

// payload is the message. Requests for other options are left out: nothing but addresses is used.
func (q request6) payload(id Identity6) []byte {
	m := &dhcpv6.Message{MessageType: q.kind, TransactionID: dhcpv6.TransactionID{byte(q.xid >> 16), byte(q.xid >> 8), byte(q.xid)}}
	m.AddOption(dhcpv6.OptClientID(id.duid()))
	if b, err := hex.DecodeString(q.server); err == nil && len(b) > 2 {
		if d, err := dhcpv6.DUIDFromBytes(b); err == nil {
			m.AddOption(dhcpv6.OptServerID(d))
		}
	}
	ia := &dhcpv6.OptIANA{IaId: id.iaid()}
	if q.address.IsValid() {
		ia.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: q.address.AsSlice()})
	}
	m.AddOption(ia)
	m.AddOption(dhcpv6.OptElapsedTime(min(q.elapsed, longestElapsed)))
	return m.ToBytes()
}
