package kernel

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSettingsConcern: a setting that somebody changed comes alone, and concerns us; those of a new interface come together.
func TestSettingsConcern(t *testing.T) {
	for count, want := range map[int]bool{2: true, 3: false} {
		data := make([]byte, sizeofNetconfmsg)
		for kind := range count {
			data = binary.NativeEndian.AppendUint16(data, 8)
			data = binary.NativeEndian.AppendUint16(data, uint16(kind+1))
			data = binary.NativeEndian.AppendUint32(data, 1)
		}
		m := message{Data: data}
		m.Header.Type = unix.RTM_NEWNETCONF
		if got := (&ourLinks{}).concerns(m); got != want {
			t.Errorf("%d attributes: %t", count, got)
		}
	}
}
