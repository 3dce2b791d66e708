package dhcp

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"github.com/heddle-network/heddle"
)

// Identity is by what a server knows a client.
type Identity struct {
	MAC      heddle.MAC
	ClientID []byte
	// Only is the one address that is of use, if it is valid: the switch lets no other pass. It is asked for.
	Only netip.Addr
	// SharesMAC says that other clients have the MAC address, too.
	SharesMAC bool
	// Beside says that containers are beside, which can have the LAN's interface hear what they send to one another's MAC addresses
	// (macvlan_queue_xmit): only what is to all comes from the LAN for sure.
	Beside bool
}

// NewIdentity is an endpoint's. The client identifier (option 61) is opaque (type 0): a hash of the
// network's ID, which no other host has, and the endpoint's. So it stays the same when an attach is
// tried again, and a MAC address that endpoints have in common does not matter.
func NewIdentity(network string, id heddle.EndpointID, mac heddle.MAC) Identity {
	sum := sha256.Sum256([]byte("dhcp " + network + " " + id.String()))
	return Identity{MAC: mac, ClientID: append([]byte{0}, sum[:16]...)}
}

// request is a message to servers.
type request struct {
	kind        dhcpv4.MessageType
	xid         uint32
	ciaddr      netip.Addr // the address that the client uses
	asked       netip.Addr // option 50
	server      netip.Addr // option 54
	toMAC       heddle.MAC // "" to all servers
	elapsed     uint16
	withOptions bool
}

// asked are the options that a server is asked for.
var asked = []dhcpv4.OptionCode{dhcpv4.OptionSubnetMask, dhcpv4.OptionRouter, dhcpv4.OptionDomainNameServer, dhcpv4.OptionDomainName,
	dhcpv4.OptionInterfaceMTU, dhcpv4.OptionIPAddressLeaseTime, dhcpv4.OptionRenewTimeValue, dhcpv4.OptionRebindingTimeValue, dhcpv4.OptionDNSDomainSearchList}

// frame is the request on the wire. Answers to it are asked for as broadcasts: before the container's
// interface is there, nobody on this host takes frames to its MAC address.
func (q request) frame(id Identity) []byte {
	p := &dhcpv4.DHCPv4{OpCode: dhcpv4.OpcodeBootRequest, HWType: 1, ClientHWAddr: macBytes(id.MAC), NumSeconds: q.elapsed, Options: dhcpv4.Options{}}
	binary.BigEndian.PutUint32(p.TransactionID[:], q.xid)
	p.UpdateOption(dhcpv4.OptMessageType(q.kind))
	p.UpdateOption(dhcpv4.OptGeneric(dhcpv4.OptionClientIdentifier, id.ClientID))
	from, to, toMAC := netip.IPv4Unspecified(), netip.AddrFrom4([4]byte{255, 255, 255, 255}), broadcastMAC
	if q.ciaddr.IsValid() {
		from, p.ClientIPAddr = q.ciaddr, q.ciaddr.AsSlice()
	} else {
		p.SetBroadcast()
	}
	if q.asked.IsValid() {
		p.UpdateOption(dhcpv4.OptRequestedIPAddress(q.asked.AsSlice()))
	}
	if q.server.IsValid() && q.toMAC == "" || q.kind == dhcpv4.MessageTypeRelease {
		p.UpdateOption(dhcpv4.OptServerIdentifier(q.server.AsSlice()))
	}
	if q.toMAC != "" && q.server.IsValid() {
		to, toMAC = q.server, q.toMAC
	}
	if q.withOptions {
		p.UpdateOption(dhcpv4.OptMaxMessageSize(1472))
		p.UpdateOption(dhcpv4.OptParameterRequestList(asked...))
	}
	return udpFrame(toMAC, id.MAC, from, to, p.ToBytes())
}
