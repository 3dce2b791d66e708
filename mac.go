package heddle

import (
	"fmt"
	"net"
	"net/netip"
)

// MAC is an Ethernet address in the usual text form ("0a:00:27:00:00:01"), or
// empty. As text it is comparable and readable in every record.
type MAC string

// ParseMAC reads a unicast Ethernet address in any form net.ParseMAC knows.
func ParseMAC(s string) (MAC, error) {
	hw, err := net.ParseMAC(s)
	if err != nil || len(hw) != 6 || hw[0]&1 == 1 || hw.String() == "00:00:00:00:00:00" {
		return "", Errorf(BadMAC, "read MAC address", Clip(s), "it is not a unicast Ethernet address", "give one such as 0a:00:00:00:00:01")
	}
	return MAC(hw.String()), nil
}

// Bytes returns the six bytes, or nil for an empty or malformed address.
func (m MAC) Bytes() net.HardwareAddr {
	hw, err := net.ParseMAC(string(m))
	if err != nil {
		return nil
	}
	return hw
}

// LinkLocal returns the IPv6 link-local address that EUI-64 derives from the
// MAC (RFC 4291, appendix A).
func (m MAC) LinkLocal() netip.Addr {
	b := m.Bytes()
	if b == nil {
		return netip.Addr{}
	}
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80,
		8: b[0] ^ 2, 9: b[1], 10: b[2], 11: 0xff, 12: 0xfe, 13: b[3], 14: b[4], 15: b[5]})
}

func macFrom(first byte, h [32]byte) MAC {
	return MAC(fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", first, h[0], h[1], h[2], h[3], h[4]))
}
