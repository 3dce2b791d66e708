package label

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"net/netip"

	"github.com/heddle-network/heddle/crowd/diary"
)

// protocols are the numbers of IANA.
var protocols = map[string]byte{"tcp": 6, "udp": 17}

// communityID is a flow's by the Community ID specification, version 1, seed 0 (corelight/community-id-spec). Both
// directions have the same.
func communityID(f diary.Flow) string {
	a, b := f.From, f.To
	if b.Compare(a) < 0 {
		a, b = b, a
	}
	text := []byte{0, 0} // the seed
	text = append(text, a.Addr().AsSlice()...)
	text = append(text, b.Addr().AsSlice()...)
	text = append(text, protocols[f.Protocol], 0)
	text = binary.BigEndian.AppendUint16(text, a.Port())
	text = binary.BigEndian.AppendUint16(text, b.Port())
	sum := sha1.Sum(text)
	return "1:" + base64.StdEncoding.EncodeToString(sum[:])
}

// ends is a flow without its direction.
type ends struct {
	protocol byte
	a, b     netip.AddrPort
}

func endsOf(protocol byte, a, b netip.AddrPort) ends {
	if b.Compare(a) < 0 {
		a, b = b, a
	}
	return ends{protocol, a, b}
}
