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
		return f.giveSlot(old.Ifindex)
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
	return f.giveSlot(old.Ifindex)
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
		index, known := f.remotes[s.Peer]
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
	addr := words(p.Addr())
	if p.Addr().Is4() {
		return f.objects.Places4, fastKey4{Addr: addr[0], Bits: uint32(p.Bits())}
	}
	return f.objects.Places6, fastKey6{Addr: addr, Bits: uint32(p.Bits())}
}

// each calls do for every place.
func (f *Fast) each(do func(netip.Prefix, fastPlace)) error {
	var k4 fastKey4
	var k6 fastKey6
	var v fastPlace
	all := f.objects.Places4.Iterate()
	for all.Next(&k4, &v) {
		do(netip.PrefixFrom(addrOf([4]uint32{k4.Addr}, false), int(k4.Bits)), v)
	}
	if err := all.Err(); err != nil {
		return err
	}
	all = f.objects.Places6.Iterate()
	for all.Next(&k6, &v) {
		do(netip.PrefixFrom(addrOf(k6.Addr, true), int(k6.Bits)), v)
	}
	return all.Err()
}

// words is an address as it stands in a packet; one of IPv4 is the first word, none
// is zero.
func words(a netip.Addr) (w [4]uint32) {
	for i, b := 0, a.AsSlice(); 4*i < len(b); i++ {
		w[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
	return w
}

func addrOf(w [4]uint32, six bool) netip.Addr {
	var b []byte
	for _, n := range w {
		b = binary.NativeEndian.AppendUint32(b, n)
	}
	if six {
		return netip.AddrFrom16([16]byte(b))
	}
	return netip.AddrFrom4([4]byte(b))
}
