package dhcp

import (
	"crypto/sha256"
	"encoding/binary"
	"net/netip"

	"github.com/insomniacslk/dhcp/dhcpv6"

	"github.com/heddle-network/heddle"
)

// Identity6 is by what routers and servers of a LAN know an endpoint, in IPv6.
type Identity6 struct {
	MAC  heddle.MAC
	seed [sha256.Size]byte
}

// NewIdentity6 is an endpoint's: the same when an attach is tried again, whatever its MAC address is then.
func NewIdentity6(network string, id heddle.EndpointID, mac heddle.MAC) Identity6 {
	return Identity6{mac, sha256.Sum256([]byte("ipv6 " + network + " " + id.String()))}
}

// derive is a hash of the identity for one use.
func (id Identity6) derive(use string, more ...byte) [sha256.Size]byte {
	return sha256.Sum256(append(append(id.seed[:len(id.seed):len(id.seed)], use...), more...))
}

// duid is the DUID (RFC 6355: a UUID), iaid the one identity association that the client has.
func (id Identity6) duid() *dhcpv6.DUIDUUID {
	sum := id.derive("duid")
	return &dhcpv6.DUIDUUID{UUID: [16]byte(sum[:16])}
}

func (id Identity6) iaid() [4]byte {
	sum := id.derive("iaid")
	return [4]byte(sum[:4])
}

// linkPrefix is that of all link-local addresses.
var linkPrefix = netip.MustParsePrefix("fe80::/64")

// address is the stable address in a prefix of 64 bits (RFC 7217): another one in each prefix, and after each conflict. So it
// does not tell the MAC address, and who has it on a LAN already does not end the matter, as with EUI-64. It is not temporary (RFC 8981).
func (id Identity6) address(prefix netip.Prefix, conflicts uint8) netip.Addr {
	a := prefix.Masked().Addr().As16()
	for redo := byte(0); ; redo++ {
		sum := id.derive("address", append(a[:8:8], conflicts, redo)...)
		if copy(a[8:], sum[:8]); !reservedID(binary.BigEndian.Uint64(a[8:])) {
			return netip.AddrFrom16(a)
		}
	}
}

// reservedID reports whether an interface identifier is reserved (RFC 5453): anycast, and those of IANA's MAC addresses.
func reservedID(id uint64) bool {
	return id == 0 || id>>24 == 0x02005efffe || id >= 0xfdffffffffffff80 && id <= 0xfdffffffffffffff
}
