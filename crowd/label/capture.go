package label

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// ngMagic begins a pcapng file (draft-ietf-opsawg-pcapng, 4.1); it reads the same in either byte order.
const ngMagic = "\x0a\x0d\x0d\x0a"

// source is a capture's file, of either format.
type source interface {
	ReadPacketData() ([]byte, gopacket.CaptureInfo, error)
}

// reader reads a capture.
type reader struct {
	source
	link func(gopacket.CaptureInfo) layers.LinkType
	// dropped are packets that the capture says were dropped for it; pcapng alone says that.
	dropped uint64
}

func newReader(capture io.Reader) (*reader, error) {
	r, in := &reader{}, bufio.NewReaderSize(capture, 1<<16)
	magic, err := in.Peek(len(ngMagic))
	if err != nil {
		return nil, fmt.Errorf("it is no capture: %w", err)
	}
	if string(magic) != ngMagic {
		old, err := pcapgo.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("it is neither pcap nor pcapng: %w", err)
		}
		r.source, r.link = old, func(gopacket.CaptureInfo) layers.LinkType { return old.LinkType() }
		return r, nil
	}
	ng, err := pcapgo.NewNgReader(in, pcapgo.NgReaderOptions{WantMixedLinkType: true, StatisticsCallback: func(_ int, of pcapgo.NgInterfaceStatistics) {
		if of.PacketsDropped != pcapgo.NgNoValue64 {
			r.dropped += of.PacketsDropped
		}
	}})
	if err != nil {
		return nil, fmt.Errorf("read pcapng: %w", err)
	}
	r.source, r.link = ng, func(ci gopacket.CaptureInfo) layers.LinkType {
		if one, err := ng.Interface(ci.InterfaceIndex); err == nil {
			return one.LinkType
		}
		return 0
	}
	return r, nil
}

// each passes the packets of TCP and UDP on. Fragments other than the first have no ports, and are left out. A
// last packet that is not whole ends a capture: who wrote it was killed.
func (r *reader) each(do func(at time.Time, key ends)) error {
	for {
		data, ci, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read packet: %w", err)
		}
		if key, is := keyOf(gopacket.NewPacket(data, r.link(ci), gopacket.DecodeOptions{Lazy: true, NoCopy: true})); is {
			do(ci.Timestamp, key)
		}
	}
}

// keyOf is the flow of a packet of TCP or UDP.
func keyOf(p gopacket.Packet) (key ends, is bool) {
	network, transport := p.NetworkLayer(), p.TransportLayer()
	if network == nil || transport == nil {
		return key, false
	}
	var from, to uint16
	var protocol byte
	switch t := transport.(type) {
	case *layers.TCP:
		from, to, protocol = uint16(t.SrcPort), uint16(t.DstPort), protocols["tcp"]
	case *layers.UDP:
		from, to, protocol = uint16(t.SrcPort), uint16(t.DstPort), protocols["udp"]
	default:
		return key, false
	}
	src, ok1 := netip.AddrFromSlice(network.NetworkFlow().Src().Raw())
	dst, ok2 := netip.AddrFromSlice(network.NetworkFlow().Dst().Raw())
	return endsOf(protocol, netip.AddrPortFrom(src, from), netip.AddrPortFrom(dst, to)), ok1 && ok2
}
