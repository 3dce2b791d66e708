package bpf

//go:generate go tool bpf2go -cc clang-14 -strip llvm-strip-14 -target bpfel steer src/steer.c -- -O2 -mcpu=v3 -Wall -Werror -idirafter /usr/include/x86_64-linux-gnu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
)

// EtherTypes of IPv4 and IPv6 (IEEE 802).
const etherIPv4, etherIPv6 = 0x0800, 0x86dd

// Steer loads the program for an interface's egress that has what goes to the prefix
// arrive on the device with the index to and the address mac. The caller closes it;
// attached, it stays.
func Steer(prefix netip.Prefix, to int, mac net.HardwareAddr) (*ebpf.Program, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("raise the limit on locked memory: %w", err)
	}
	spec, err := loadSteer()
	if err != nil {
		return nil, err
	}
	if len(mac) != 6 {
		return nil, fmt.Errorf("no MAC address: %s", mac)
	}
	kind := uint16(etherIPv4)
	if prefix.Addr().Is6() {
		kind = etherIPv6
	}
	var address, mask [4]uint32
	bytes := prefix.Masked().Addr().AsSlice()
	for i := 0; 4*i < len(bytes); i++ {
		bits := min(max(prefix.Bits()-32*i, 0), 32)
		address[i] = binary.NativeEndian.Uint32(bytes[4*i:])
		mask[i] = onWire32(^uint32(0) << (32 - bits))
	}
	err = errors.Join(spec.Variables["protocol"].Set(uint32(onWire16(kind))), spec.Variables["address"].Set(address), spec.Variables["mask"].Set(mask),
		spec.Variables["to"].Set(uint32(to)), spec.Variables["mac"].Set([6]byte(mac)))
	if err != nil {
		return nil, err
	}
	var o steerPrograms
	if err := spec.LoadAndAssign(&o, nil); err != nil {
		return nil, fmt.Errorf("load the program of redirects: %w", err)
	}
	return o.ToHost, nil
}

// onWire16 and onWire32 are htons and htonl.
func onWire16(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}
func onWire32(v uint32) uint32 {
	return binary.NativeEndian.Uint32(binary.BigEndian.AppendUint32(nil, v))
}
