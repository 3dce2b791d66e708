package kernel

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/firewall"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Set elements as the kernel holds them. A key of several parts is their
// concatenation, each padded with zeroes to whole 32-bit registers; a key of
// one part is not padded:
//
//	ifname . ether_addr    68 64 31 32 00 … 00 | 0a 00 27 00 00 01 00 00
//	                       16 bytes              6 bytes          padding
//
// Numbers that come from a packet are big-endian, a device group is in the
// host's order.

// widths of the types in bytes.
var widths = map[string]int{
	firewall.TypeIfName: unix.IFNAMSIZ, firewall.TypeMAC: 6, firewall.TypeIPv4: 4, firewall.TypeIPv6: 16, firewall.TypeNDTarget: 16,
	firewall.TypeInner4: 4, firewall.TypeInner6: 16, firewall.TypeQuoted4: 4, firewall.TypeQuoted6: 16,
	firewall.TypeProto: 1, firewall.TypePort: 2, firewall.TypeGroup: 4,
}

func padded(n int) int { return (n + 3) &^ 3 }

// keyLen is the length of a key or value with the given parts. A verdict has no length in bytes and
// gives 0.
func keyLen(types []string) int {
	if len(types) == 1 {
		return widths[types[0]]
	}
	n := 0
	for _, t := range types {
		n += padded(widths[t])
	}
	return n
}

// encode writes the parts of a key or value.
func encode(types, parts []string) ([]byte, error) {
	if len(types) != len(parts) {
		return nil, fmt.Errorf("%d parts where the set has %d", len(parts), len(types))
	}
	out := make([]byte, 0, keyLen(types))
	for i, t := range types {
		b, err := encodePart(t, parts[i])
		if err != nil {
			return nil, err
		}
		out = append(out, b...)
		if len(types) > 1 {
			out = append(out, make([]byte, padded(len(b))-len(b))...)
		}
	}
	return out, nil
}

func encodePart(kind, s string) ([]byte, error) {
	bad := fmt.Errorf("%q is no %s", s, kind)
	switch kind {
	case firewall.TypeIfName:
		b := make([]byte, unix.IFNAMSIZ)
		if copy(b, s) == unix.IFNAMSIZ {
			return nil, bad
		}
		return b, nil
	case firewall.TypeMAC:
		if hw := heddle.MAC(s).Bytes(); len(hw) == 6 {
			return hw, nil
		}
	case firewall.TypeIPv4, firewall.TypeIPv6, firewall.TypeNDTarget, firewall.TypeInner4, firewall.TypeInner6, firewall.TypeQuoted4, firewall.TypeQuoted6:
		a, err := netip.ParseAddr(s)
		if err == nil && a.BitLen() == 8*widths[kind] {
			return a.AsSlice(), nil
		}
	case firewall.TypeProto:
		if n, known := heddle.ProtocolNumber(s); known {
			return []byte{n}, nil
		}
		if n, err := strconv.ParseUint(s, 0, 8); err == nil {
			return []byte{byte(n)}, nil
		}
	case firewall.TypePort:
		if n, err := strconv.ParseUint(s, 0, 16); err == nil {
			return binary.BigEndian.AppendUint16(nil, uint16(n)), nil
		}
	case firewall.TypeGroup:
		if n, err := strconv.ParseUint(s, 0, 32); err == nil {
			return nl.Uint32Attr(uint32(n)), nil
		}
	}
	return nil, bad
}

// decode is the inverse of encode, in the spelling that plans use.
func decode(types []string, b []byte) []string {
	var parts []string
	for _, t := range types {
		w := widths[t]
		if len(b) < w {
			return nil
		}
		parts = append(parts, decodePart(t, b[:w]))
		b = b[min(padded(w), len(b)):]
	}
	return parts
}

func decodePart(kind string, b []byte) string {
	switch kind {
	case firewall.TypeIfName:
		return string(bytes.TrimRight(b, "\x00"))
	case firewall.TypeMAC:
		return net.HardwareAddr(b).String()
	case firewall.TypeIPv4, firewall.TypeIPv6, firewall.TypeNDTarget, firewall.TypeInner4, firewall.TypeInner6, firewall.TypeQuoted4, firewall.TypeQuoted6:
		a, _ := netip.AddrFromSlice(b)
		return a.String()
	case firewall.TypePort:
		return strconv.Itoa(int(binary.BigEndian.Uint16(b)))
	case firewall.TypeGroup:
		return fmt.Sprintf("%#x", number(b))
	}
	if name := heddle.ProtocolName(int(b[0])); name != "" {
		return name
	}
	return strconv.Itoa(int(b[0]))
}

// verdicts of linux/netfilter/nf_tables.h and linux/netfilter.h.
var verdicts = map[string]int32{
	"drop": 0, "accept": 1, "continue": unix.NFT_CONTINUE, "return": unix.NFT_RETURN,
	"jump": unix.NFT_JUMP, "goto": unix.NFT_GOTO,
}

// parseVerdict reads "accept", "jump NAME" and the like.
func parseVerdict(s string) (code int32, chain string, err error) {
	word, chain, _ := strings.Cut(s, " ")
	code, known := verdicts[word]
	if !known || (chain != "") != (word == "jump" || word == "goto") {
		return 0, "", fmt.Errorf("%q is no verdict", s)
	}
	return code, chain, nil
}

func formatVerdict(code int32, chain string) string {
	for word, c := range verdicts {
		if c == code {
			return strings.TrimSpace(word + " " + chain)
		}
	}
	return strconv.Itoa(int(code))
}
