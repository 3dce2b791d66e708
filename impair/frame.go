package impair

import "encoding/binary"

// HeaderSize is the size of the header before each frame of a packet socket or TAP, in bytes (struct virtio_net_hdr,
// linux/virtio_net.h).
const HeaderSize = 10

// The header has, in the machine's byte order: flags, kind of segmentation, header length, segment size, the start of
// the checksummed part, and the offset of the checksum in it.
const (
	needsChecksumFlag = 1 // VIRTIO_NET_HDR_F_NEEDS_CSUM
	atFlags           = 0
	atGSO             = 1
	atSumStart        = 6
	atSumOffset       = 8
)

const (
	etherHeader = 14
	macs        = 12
	vlanTag     = 4
)

// needsChecksum reports whether the sender left the frame's transport checksum to the NIC.
// It is false if the NIC shall also segment the frame: then each segment has a checksum of
// its own, and the frame passes with its header.
func needsChecksum(b []byte) bool { return b[atFlags]&needsChecksumFlag != 0 && b[atGSO] == 0 }

// completeChecksum computes the checksum that the sender left to its NIC, or leaves it
// wrong if spoil is set. It then clears the header: nothing is left to do. (The checksum
// field holds the sum of the pseudo header already, RFC 1071.)
func completeChecksum(b []byte, spoil bool) {
	header, data := b[:HeaderSize], b[HeaderSize:]
	start := int(binary.NativeEndian.Uint16(header[atSumStart:]))
	at := start + int(binary.NativeEndian.Uint16(header[atSumOffset:]))
	if !spoil && at+2 <= len(data) {
		sum := checksum(data[start:])
		if sum == 0 {
			sum = 0xffff // 0 would say that UDP has none (RFC 768)
		}
		binary.BigEndian.PutUint16(data[at:], sum)
	}
	clear(header)
}

func checksum(b []byte) uint16 {
	var sum uint64
	for len(b) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// flipBit changes one bit after the Ethernet header. A wrong MAC address would be another
// fault.
func flipBit(b []byte, bit uint64) {
	data := b[HeaderSize:]
	if len(data) <= etherHeader {
		return
	}
	data = data[etherHeader:]
	bit %= uint64(len(data)) * 8
	data[bit/8] ^= 1 << (bit % 8)
}

// RestoreVLAN inserts the VLAN tag that the kernel removed from the frame before it reached
// the packet socket (packet(7), PACKET_AUXDATA).
func RestoreVLAN(b []byte, protocol, tci uint16) []byte {
	at := HeaderSize + macs
	if len(b) < at {
		return b
	}
	out := make([]byte, 0, len(b)+vlanTag)
	out = append(out, b[:at]...)
	out = binary.BigEndian.AppendUint16(out, protocol)
	out = binary.BigEndian.AppendUint16(out, tci)
	out = append(out, b[at:]...)
	if out[atFlags]&needsChecksumFlag != 0 {
		start := binary.NativeEndian.Uint16(out[atSumStart:])
		binary.NativeEndian.PutUint16(out[atSumStart:], start+vlanTag)
	}
	return out
}
