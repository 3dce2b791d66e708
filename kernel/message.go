package kernel

import (
	"encoding/binary"
	"errors"
	"iter"
	"syscall"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// message is a netlink message: a header and its payload.
type message = syscall.NetlinkMessage

func split(b []byte) ([]message, error) { return syscall.ParseNetlinkMessage(b) }

// parseAck reads an acknowledgement: an errno, the header of the request, then attributes
// (linux/netlink.h, struct nlmsgerr).
func parseAck(m message) *refusal {
	if len(m.Data) < 4 {
		return nil
	}
	errno := int32(nl.NativeEndian().Uint32(m.Data))
	if errno >= 0 {
		return nil
	}
	r := &refusal{errno: unix.Errno(-errno)}
	if m.Header.Type != unix.NLMSG_ERROR || m.Header.Flags&unix.NLM_F_ACK_TLVS == 0 || len(m.Data) < 4+unix.SizeofNlMsghdr {
		return r
	}
	r.words = text(attributes(m.Data[4+unix.SizeofNlMsghdr:]).get(nl.NLMSGERR_ATTR_MSG))
	return r
}

// request starts a message of the given type, and asks for an acknowledgement.
func request(kind, flags int, header nl.NetlinkRequestData) *nl.NetlinkRequest {
	r := nl.NewNetlinkRequest(kind, flags|unix.NLM_F_ACK)
	r.AddData(header)
	return r
}

// list dumps objects and decodes each. A dump that a change interrupted may miss objects, so it is
// repeated. On a host that changes all the time the fifth dump is accepted: all its readers can
// handle a missing object, since an Apply of existing objects changes nothing.
func list[T any](c *conn, req func() *nl.NetlinkRequest, decode func([]byte) (T, bool)) ([]T, error) {
	for try := 1; ; try++ {
		var all []T
		r := req()
		r.Flags |= unix.NLM_F_DUMP
		interrupted, err := c.exchange(func(_ uint16, payload []byte) {
			if x, ok := decode(payload); ok {
				all = append(all, x)
			}
		}, r)
		if err != nil {
			return nil, err
		}
		if !interrupted || try == 5 {
			return all, nil
		}
	}
}

// listBoth lists the objects of both families. A kernel started without IPv6 has no IPv6 objects.
func listBoth[T any](c *conn, req func(family uint8) *nl.NetlinkRequest, decode func([]byte) (T, bool)) ([]T, error) {
	var all []T
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		some, err := list(c, func() *nl.NetlinkRequest { return req(family) }, decode)
		if err != nil && !errors.Is(err, unix.EAFNOSUPPORT) {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// one reads the object that a request names; a missing one gives nil.
func one[T any](c *conn, req *nl.NetlinkRequest, decode func([]byte) (T, bool)) (*T, error) {
	var found *T
	err := c.get(req, func(_ uint16, payload []byte) {
		if x, ok := decode(payload); ok {
			found = &x
		}
	})
	if absent(err) {
		return nil, nil
	}
	return found, err
}

// attributes is a list of attributes as the kernel wrote it (netlink(7)). It is read in place: a list of ten thousand interfaces has
// half a million. It and its values last until the connection receives again; what is kept is cloned. A malformed attribute ends the
// list.
type attributes []byte

// next splits off the first attribute: its type without the flag bits (nested, byte order), its value, and the rest of the list. At the
// end of the list the value is nil; that of an empty attribute is not.
func (a attributes) next() (kind uint16, value []byte, rest attributes) {
	if len(a) < unix.SizeofRtAttr {
		return 0, nil, nil
	}
	n := int(binary.NativeEndian.Uint16(a))
	if n < unix.SizeofRtAttr || n > len(a) {
		return 0, nil, nil
	}
	kind = binary.NativeEndian.Uint16(a[2:]) &^ (unix.NLA_F_NESTED | unix.NLA_F_NET_BYTEORDER)
	return kind, a[unix.SizeofRtAttr:n:n], a[min(len(a), (n+unix.NLA_ALIGNTO-1)&^(unix.NLA_ALIGNTO-1)):]
}

// all has every attribute in order, repeated ones, too.
func (a attributes) all() iter.Seq2[uint16, []byte] {
	return func(yield func(uint16, []byte) bool) {
		for kind, value, rest := a.next(); value != nil && yield(kind, value); kind, value, rest = rest.next() {
		}
	}
}

// count is how many attributes there are.
func (a attributes) count() (n int) {
	for range a.all() {
		n++
	}
	return n
}

// get is the value of an attribute: nil if it is missing, empty but not nil if it is a flag. The last of repeated ones counts.
func (a attributes) get(kind uint16) (found []byte) {
	for k, value, rest := a.next(); value != nil; k, value, rest = rest.next() {
		if k == kind {
			found = value
		}
	}
	return found
}

// after returns the attributes behind a fixed header.
func after(header int, b []byte) attributes {
	if len(b) < header {
		return nil
	}
	return b[header:]
}

func text(b []byte) string { return unix.ByteSliceToString(b) }

func number(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return nl.NativeEndian().Uint32(b)
}

func short(b []byte) uint16 {
	if len(b) < 2 {
		return 0
	}
	return nl.NativeEndian().Uint16(b)
}

func octet(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

func numberAttr(kind int, v uint32) *nl.RtAttr { return nl.NewRtAttr(kind, nl.Uint32Attr(v)) }

func textAttr(kind int, s string) *nl.RtAttr { return nl.NewRtAttr(kind, nl.ZeroTerminated(s)) }

func octetAttr(kind int, v byte) *nl.RtAttr { return nl.NewRtAttr(kind, []byte{v}) }

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// Every object is made with NLM_F_EXCL. That takes one request if nothing is there; only an
// existing object is read and compared.
const excl = unix.NLM_F_CREATE | unix.NLM_F_EXCL
