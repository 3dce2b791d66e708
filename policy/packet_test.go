package policy

import (
	"testing"

	"pgregory.net/rapid"
)

// TestPacketsOfAnyBytes: whatever bytes are refused, they are told in words without control characters.
func TestPacketsOfAnyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 96).Draw(t, "bytes")
		if len(b) > 0 && rapid.Bool().Draw(t, "looks well") {
			b[0] = rapid.SampledFrom([]byte{0x45, 0x46, 0x60}).Draw(t, "version")
		}
		ether := rapid.SampledFrom([]uint16{etherIPv4, etherIPv6, 0x88cc}).Draw(t, "ether")
		f := Policies{}.Refused(nil, Member{}, Ingress, ether, b)
		for _, r := range f.String() {
			if r < ' ' || r > '~' {
				t.Fatalf("% x is told as %q", b, f.String())
			}
		}
	})
}
