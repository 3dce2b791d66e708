package kernel

import (
	"errors"
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
	r.words = text(attributes(m.Data[4+unix.SizeofNlMsghdr:])[nl.NLMSGERR_ATTR_MSG])
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

// attributes decodes the attributes of a message, without the flag bits of their types (nested,
// byte order). If a type is repeated, the last attribute counts.
func attributes(b []byte) map[uint16][]byte {
	list, err := nl.ParseRouteAttr(b)
	if err != nil {
		return nil
	}
	all := make(map[uint16][]byte, len(list))
	for _, a := range list {
		all[a.Attr.Type&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)] = a.Value
	}
	return all
}

// after returns the attributes behind a fixed header.
func after(header int, b []byte) map[uint16][]byte {
	if len(b) < header {
		return nil
	}
	return attributes(b[header:])
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
