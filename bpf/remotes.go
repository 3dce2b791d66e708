package bpf

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"github.com/heddle-network/heddle"
)

// outerTTL is that of the kernel's VXLAN device by default (src/vxlan.h).
const outerTTL = 64

// PutRemote makes a peer known; ifindex is that of its Link.
func (f *Fast) PutRemote(r heddle.Remote, ifindex int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	index, known := f.remotes[r.Addr]
	if !known {
		var err error
		if index, err = f.freePeer(); err != nil {
			return err
		}
	}
	if err := f.objects.Peers.Put(index, peerOf(r, ifindex)); err != nil {
		return err
	}
	f.remotes[r.Addr] = index
	return nil
}

// DropRemote forgets a peer; that it is not known is no error. Shortcuts that lead
// there find nothing any more.
func (f *Fast) DropRemote(addr netip.Addr) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	index, known := f.remotes[addr]
	if !known {
		return nil
	}
	if err := f.objects.Peers.Put(index, fastPeer{}); err != nil {
		return err
	}
	delete(f.remotes, addr)
	return nil
}

// HasRemote reports whether a peer is known, and whether as wanted.
func (f *Fast) HasRemote(r heddle.Remote, ifindex int) (there, same bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	index, known := f.remotes[r.Addr]
	if !known {
		return false, false, nil
	}
	var have fastPeer
	if err := f.objects.Peers.Lookup(index, &have); err != nil {
		return false, false, err
	}
	have.NextMac, have.OwnMac, have.Asked = 0, 0, 0 // the program's own
	return true, have == peerOf(r, ifindex), nil
}

// Remotes lists the peers that are known.
func (f *Fast) Remotes() []netip.Addr {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []netip.Addr
	for a := range f.remotes {
		all = append(all, a)
	}
	return all
}

// SetWire says what VXLAN is for this host.
func (f *Fast) SetWire(w heddle.Wire) error { return f.objects.Wires.Put(uint32(0), wireOf(w)) }

// HasWire reports whether it is set so.
func (f *Fast) HasWire(w heddle.Wire) (bool, error) {
	var have fastWire
	err := f.objects.Wires.Lookup(uint32(0), &have)
	return have == wireOf(w), err
}

func wireOf(w heddle.Wire) fastWire {
	return fastWire{Local: words(w.Local)[0], Local6: words(w.Local6), Vni: vni(w.VNI), Port: network16(w.Port), Mac: hardware(w.MAC)}
}

func peerOf(r heddle.Remote, ifindex int) fastPeer {
	p := fastPeer{Addr: words(r.Addr), Local: words(r.Local), Ifindex: uint32(ifindex), Vni: vni(r.VNI), Port: network16(r.Port),
		Mtu: uint16(min(r.MTU, 65535)), InnerDst: hardware(r.MAC), InnerSrc: hardware(r.OwnMAC)}
	if r.Addr.Is6() {
		p.Six = 1
		return p
	}
	p.Sum = headerSum(r.Local, r.Addr)
	return p
}

// headerSum is the sum of the outer IP header's constant words, in the byte order
// of this machine, as RFC 1071 (2) allows: version and length, TTL and protocol,
// addresses.
func headerSum(from, to netip.Addr) uint32 {
	header := []byte{0x45, 0, 0, 0, 0, 0, 0, 0, outerTTL, 17, 0, 0}
	a, b := from.As4(), to.As4()
	header = append(append(header, a[:]...), b[:]...)
	var sum uint32
	for i := 0; i < len(header); i += 2 {
		sum += uint32(binary.NativeEndian.Uint16(header[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return sum
}

func (f *Fast) freePeer() (uint32, error) {
	used := map[uint32]bool{}
	for _, i := range f.remotes {
		used[i] = true
	}
	for i := range f.objects.Peers.MaxEntries() {
		if !used[i] {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no room for another peer: %d are known", len(used))
}

// vni is the network identifier as the VXLAN header has it (RFC 7348, section 5).
func vni(n uint32) uint32 {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n<<8)
	return binary.NativeEndian.Uint32(b[:])
}

func network16(n uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], n)
	return binary.NativeEndian.Uint16(b[:])
}

func hardware(m heddle.MAC) (b [6]uint8) {
	if a, err := net.ParseMAC(string(m)); err == nil {
		copy(b[:], a)
	}
	return b
}

// readRemotes learns which peers are known.
func (f *Fast) readRemotes() error {
	for i := range f.objects.Peers.MaxEntries() {
		var p fastPeer
		if err := f.objects.Peers.Lookup(i, &p); err != nil {
			return err
		}
		if p.Ifindex != 0 {
			f.remotes[addrOf(p.Addr, p.Six != 0)] = i
		}
	}
	return nil
}
