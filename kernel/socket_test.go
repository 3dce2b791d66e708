package kernel

import (
	"reflect"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// TestInParts: a socket for listings gets a dump in small parts, and all of it; also a part that is larger than others,
// for an interface with many names.
func TestInParts(t *testing.T) {
	r := newRoom(t)
	same := func() {
		t.Helper()
		whole, err := r.k.hostSession().links()
		cell.Must(t, err)
		parts, err := r.k.listing().links()
		cell.Must(t, err)
		if len(whole) < 120 || !reflect.DeepEqual(whole, parts) {
			t.Errorf("%d interfaces in parts: %+v\n%d whole: %+v", len(parts), parts, len(whole), whole)
		}
	}
	r.sh(`for i in $(seq 60); do echo "link add a$i type veth peer name b$i"; done | ip -batch -`)
	same()
	if part := len(r.k.listRt.buf); part > 8<<10 {
		t.Errorf("the largest part has %d bytes", part)
	}
	r.sh(`for i in $(seq 120); do echo "link property add dev a7 altname name-that-is-rather-long-and-has-a-number-at-its-end-$i"; done | ip -batch -`)
	same()
	if l, err := r.k.listing().link("a7"); l == nil || err != nil {
		t.Errorf("one alone: %v, %v", l, err)
	}
}
