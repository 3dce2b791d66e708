package world

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

// Advertisement is what somebody who says that he is a router sends to all (RFC 4861, 4.2).
type Advertisement struct {
	From     netip.Addr // link-local
	Hops     uint8      // 0 stands for 255
	Lifetime time.Duration
	// Managed says that addresses come from a DHCPv6 server (the M flag).
	Managed bool
	// Prefixes are on the link, and hosts make addresses in them, for an hour.
	Prefixes []netip.Prefix
	// Routes lead through it (RFC 4191), with high preference.
	Routes []netip.Prefix
}

// Frame is the advertisement, from a MAC address.
func (a Advertisement) Frame(t testing.TB, from net.HardwareAddr) []byte {
	t.Helper()
	hops := a.Hops
	if hops == 0 {
		hops = 255
	}
	ip := &layers.IPv6{Version: 6, NextHeader: layers.IPProtocolICMPv6, HopLimit: hops, SrcIP: a.From.AsSlice(), DstIP: net.ParseIP("ff02::1")}
	icmp := &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeRouterAdvertisement, 0)}
	if err := icmp.SetNetworkLayerForChecksum(ip); err != nil {
		t.Fatal(err)
	}
	ra := &layers.ICMPv6RouterAdvertisement{HopLimit: 64, RouterLifetime: uint16(a.Lifetime / time.Second)}
	if a.Managed {
		ra.Flags |= 0x80
	}
	for _, p := range a.Prefixes {
		data := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{byte(p.Bits()), 0xc0}, 3600), 3600)
		to := p.Addr().As16()
		ra.Options = append(ra.Options, layers.ICMPv6Option{Type: layers.ICMPv6OptPrefixInfo, Data: append(append(data, 0, 0, 0, 0), to[:]...)})
	}
	for _, p := range a.Routes {
		to := p.Addr().As16()
		ra.Options = append(ra.Options, layers.ICMPv6Option{Type: 24, Data: append([]byte{byte(p.Bits()), 0x08, 0, 0, 0x0e, 0x10}, to[:]...)})
	}
	ether := &layers.Ethernet{SrcMAC: from, DstMAC: net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}, EthernetType: layers.EthernetTypeIPv6}
	return Build(t, []gopacket.SerializableLayer{ether, ip, icmp, ra}...)
}
