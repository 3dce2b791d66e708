package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/heddle-network/heddle"
)

// Flags of a place (src/maps.h).
const (
	placeBridged = 1
	placeHost    = 2
)

// Put makes a shortcut; ifindex is that of its Link, 0 if it has none. It replaces
// one for the same prefix in one step.
func (f *Fast) Put(s heddle.Shortcut, ifindex int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, there, err := f.place(s.Prefix)
	if err != nil {
		return err
	}
	v, err := f.encode(s, ifindex)
	if err != nil {
		return err
	}
	kept := there && old.Ifindex == v.Ifindex
	switch {
	case kept:
		v.Slot = old.Slot
	case v.Ifindex != 0:
		if v.Slot, err = f.takeSlot(v.Ifindex); err != nil {
			return err
		}
	}
	if err := f.store(s.Prefix, v); err != nil {
		return err
	}
	if there && !kept {
		f.giveSlot(old.Ifindex)
	}
	return nil
}

// Drop removes the shortcut for a prefix; that there is none is no error.
func (f *Fast) Drop(p netip.Prefix) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	old, there, err := f.place(p)
	if err != nil || !there {
		return err
	}
	m, key := f.keyOf(p)
	if err := m.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return err
	}
	f.giveSlot(old.Ifindex)
	return nil
}

// Has reports whether there is a shortcut for the prefix, and whether it is as
// wanted.
func (f *Fast) Has(s heddle.Shortcut, ifindex int) (there, same bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	have, there, err := f.place(s.Prefix)
	if err != nil || !there {
		return false, false, err
	}
	want, err := f.encode(s, ifindex)
	want.Slot = have.Slot
	return true, err == nil && want == have, nil
}

// Prefixes lists what there are shortcuts for.
func (f *Fast) Prefixes() ([]netip.Prefix, error) {
	var all []netip.Prefix
	err := f.each(func(p netip.Prefix, _ fastPlace) { all = append(all, p) })
	return all, err
}

func (f *Fast) encode(s heddle.Shortcut, ifindex int) (v fastPlace, err error) {
	v = fastPlace{Group: s.Group, Mtu: uint16(min(s.MTU, 65535)), Bits: uint8(s.BlockBits)}
	switch {
	case s.Link != "":
		v.Ifindex = uint32(ifindex)
		v.Mac, v.PortMac = hardware(s.MAC), hardware(s.PortMAC)
		if s.Bridged {
			v.Flags = placeBridged
		}
	case s.Peer.IsValid():
		index, known := f.remotes[number(s.Peer)]
		if !known {
			return v, fmt.Errorf("the peer %s is not known", s.Peer)
		}
		v.Peer = index
	default:
		v.Flags = placeHost
	}
	return v, nil
}

func (f *Fast) place(p netip.Prefix) (v fastPlace, there bool, err error) {
	m, key := f.keyOf(p)
	err = m.Lookup(key, &v)
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return v, false, nil
	}
	return v, err == nil, err
}

func (f *Fast) store(p netip.Prefix, v fastPlace) error {
	m, key := f.keyOf(p)
	return m.Put(key, v)
}

// keyOf is the prefix as the programs look it up, and where.
func (f *Fast) keyOf(p netip.Prefix) (*ebpf.Map, any) {
	if p.Addr().Is4() {
		return f.objects.Places4, fastKey4{Addr: number(p.Addr()), Bits: uint32(p.Bits())}
	}
	key, b := fastKey6{Bits: uint32(p.Bits())}, p.Addr().As16()
	for i := range key.Addr {
		key.Addr[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
	return f.objects.Places6, key
}

// each calls do for every place.
func (f *Fast) each(do func(netip.Prefix, fastPlace)) error {
	var k4 fastKey4
	var k6 fastKey6
	var v fastPlace
	all := f.objects.Places4.Iterate()
	for all.Next(&k4, &v) {
		var b [4]byte
		binary.NativeEndian.PutUint32(b[:], k4.Addr)
		do(netip.PrefixFrom(netip.AddrFrom4(b), int(k4.Bits)), v)
	}
	if err := all.Err(); err != nil {
		return err
	}
	all = f.objects.Places6.Iterate()
	for all.Next(&k6, &v) {
		var b [16]byte
		for i, w := range k6.Addr {
			binary.NativeEndian.PutUint32(b[4*i:], w)
		}
		do(netip.PrefixFrom(netip.AddrFrom16(b), int(k6.Bits)), v)
	}
	return all.Err()
}

// number is an IPv4 address as it stands in a packet.
func number(a netip.Addr) uint32 {
	b := a.As4()
	return binary.NativeEndian.Uint32(b[:])
}
