// Package dhcp gets addresses from DHCP servers (RFC 2131) for others: for containers on a LAN, from
// their host. Machine decides what is sent and what an answer means; it is pure: time and packets go
// in, packets and the next deadline come out. Client is the I/O: a packet socket for each LAN.
package dhcp

import (
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/lazyregexp"
)

// Message is what is read of a server's answer.
type Message struct {
	Type      dhcpv4.MessageType
	XID       uint32
	MAC       heddle.MAC // of the client
	Address   netip.Prefix
	Server    netip.Addr
	ServerMAC heddle.MAC // who sent the frame
	ToOne     heddle.MAC // as of ARP
	Router    netip.Addr
	DNS       []netip.Addr
	Domain    string
	Search    []string
	MTU       int
	// Lease, T1 and T2 are 0 if the server does not say.
	Lease, T1, T2 time.Duration
}

// maxList bounds how many name servers and domains are taken.
const maxList = 8

// isOurs reports whether a payload is an answer to us, by the fixed header of RFC 2131, 2: it costs little
// to pass over the answers to others.
func isOurs(b []byte, ours func(xid uint32, mac heddle.MAC) bool) bool {
	return len(b) >= 34 && b[0] == byte(dhcpv4.OpcodeBootReply) && b[2] == 6 &&
		ours(binary.BigEndian.Uint32(b[4:]), heddle.MAC(net.HardwareAddr(b[28:34]).String()))
}

// parseMessage reads an answer of a server. What it does not name here is ignored: routes (options
// 33 and 121) above all, by which a server could divert traffic.
func parseMessage(payload []byte, from heddle.MAC) (m Message, ok bool) {
	p, err := dhcpv4.FromBytes(payload)
	if err != nil {
		return m, false
	}
	m = Message{Type: p.MessageType(), XID: xidOf(p.TransactionID), MAC: heddle.MAC(p.ClientHWAddr.String()), ServerMAC: from,
		Server: address(p.ServerIdentifier()), Domain: cleanName(p.DomainName())}
	bits, mask := 0, p.SubnetMask()
	if len(mask) == 4 {
		if ones, size := mask.Size(); size == 32 {
			bits = ones
		}
	}
	if a := address(p.YourIPAddr); a.IsValid() && bits > 0 {
		m.Address = netip.PrefixFrom(a, bits)
	}
	if all := p.Router(); len(all) > 0 {
		m.Router = address(all[0])
	}
	for _, ip := range p.DNS() {
		if a := address(ip); usableAddr(a) && len(m.DNS) < maxList {
			m.DNS = append(m.DNS, a)
		}
	}
	if labels := p.DomainSearch(); labels != nil {
		for _, l := range labels.Labels {
			if l = cleanName(l); l != "" && len(m.Search) < maxList {
				m.Search = append(m.Search, l)
			}
		}
	}
	m.MTU = int(number(p.Options.Get(dhcpv4.OptionInterfaceMTU), 2))
	m.Lease, m.T1, m.T2 = seconds(p, dhcpv4.OptionIPAddressLeaseTime), seconds(p, dhcpv4.OptionRenewTimeValue), seconds(p, dhcpv4.OptionRebindingTimeValue)
	return m, true
}

// domainName is a domain as a resolver takes it.
var domainName = lazyregexp.New(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*$`)

// cleanName is a domain of the server, "" if it is none.
func cleanName(s string) string {
	if s = strings.TrimSuffix(s, "."); len(s) > 253 || !domainName.MatchString(s) {
		return ""
	}
	return s
}

func seconds(p *dhcpv4.DHCPv4, code dhcpv4.OptionCode) time.Duration {
	return time.Duration(number(p.Options.Get(code), 4)) * time.Second
}

// number is an option's value of exactly that many bytes, 0 for any other.
func number(b []byte, size int) (v uint32) {
	if len(b) != size {
		return 0
	}
	for _, x := range b {
		v = v<<8 | uint32(x)
	}
	return v
}

func address(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)
	if a = a.Unmap(); !a.Is4() || a.IsUnspecified() {
		return netip.Addr{}
	}
	return a
}

func xidOf(id dhcpv4.TransactionID) uint32 { return number(id[:], 4) }

// usableAddr reports whether one host can have the address.
func usableAddr(a netip.Addr) bool {
	return a.Is4() && !a.IsUnspecified() && !a.IsLoopback() && !a.IsMulticast() && a.As4()[0] != 0 && a.As4()[0] < 224
}

// Unusable says why an address cannot be used by a host of its subnet, "" if it can.
func Unusable(p netip.Prefix) string {
	switch a := p.Addr(); {
	case !p.IsValid() || !a.Is4():
		return "the server names no address, or no mask"
	case !usableAddr(a):
		return a.String() + " is no address of a host"
	case a.IsLinkLocalUnicast():
		return a.String() + " is a link-local address"
	case p.Bits() < 8 || p.Bits() > 32:
		return "the mask of " + p.String() + " is no mask of a LAN"
	case p.Bits() < 31 && (a == p.Masked().Addr() || a == heddle.LastAddr(p)):
		return a.String() + " is the network's own or the broadcast address of " + p.Masked().String()
	}
	return ""
}
