package label

import (
	"bytes"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/heddle-network/heddle/crowd/diary"
)

func at(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }

// TestCommunityID has the specification's examples, from both ends.
func TestCommunityID(t *testing.T) {
	for _, x := range []struct{ protocol, from, to, want string }{
		{"tcp", "128.232.110.120:34855", "66.35.250.204:80", "1:LQU9qZlK+B5F3KDmev6m5PMibrg="},
		{"udp", "192.168.1.42:4242", "8.8.8.8:53", "1:vTdrngJjlP5eZ9mw9JtnKyn99KM="},
	} {
		for _, f := range []diary.Flow{{Protocol: x.protocol, From: at(x.from), To: at(x.to)}, {Protocol: x.protocol, From: at(x.to), To: at(x.from)}} {
			if got := communityID(f); got != x.want {
				t.Errorf("%+v: %s, want %s", f, got, x.want)
			}
		}
	}
}

// TestOf joins what a diary says of a flow in several lines, in the round that is asked for.
func TestOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "diary")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &diary.Recorder{To: f}
	r.Write(diary.Line{Run: &diary.Run{}})
	for _, mode := range []string{"bridge", "routed"} {
		r.Begin(diary.Round{Number: 1, Mode: mode})
		place := diary.Where{User: 3, Behaviour: mode, Session: 1, Step: 1}
		end := r.Open(diary.Flow{Where: place, Protocol: "tcp", From: at("10.0.0.3:1000"), To: at("10.0.0.1:80")})
		r.Open(diary.Flow{Where: diary.Where{User: 4, Behaviour: mode, Session: 1, Step: 1}, Protocol: "tcp", From: at("10.0.0.4:1000"), To: at("10.0.0.1:80")})
		end()
		r.Step(diary.Step{Where: place, Outcome: "achieved"})
	}
	f.Close()
	for _, mode := range []string{"bridge", "routed"} {
		all, err := Of(file, mode, 1)
		if err != nil || len(all) != 2 || all[0].Mode != mode || all[0].Behaviour != mode || all[0].Outcome != "achieved" || all[0].Ended.Before(all[0].At) ||
			all[1].Outcome != "" || !all[1].Ended.IsZero() || all[0].CommunityID == all[1].CommunityID {
			t.Errorf("%s: %v, %+v", mode, err, all)
		}
	}
	if all, err := Of(file, "", 0); err != nil || len(all) != 4 || all[0].Mode != "bridge" || all[2].Mode != "routed" || all[2].Outcome != "achieved" {
		t.Errorf("%v, %+v", err, all)
	}
	if _, err := Of(file, "bridge", 2); err == nil || !strings.Contains(err.Error(), "no such round") {
		t.Error(err)
	}
}

// packet is an Ethernet frame of a flow.
func packet(t *testing.T, protocol, from, to string) []byte {
	t.Helper()
	src, dst := at(from), at(to)
	ether := &layers.Ethernet{SrcMAC: []byte{2, 0, 0, 0, 0, 1}, DstMAC: []byte{2, 0, 0, 0, 0, 2}, EthernetType: layers.EthernetTypeIPv4}
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocol(protocols[protocol]), SrcIP: src.Addr().AsSlice(), DstIP: dst.Addr().AsSlice()}
	all := []gopacket.SerializableLayer{ether, ip}
	if src.Addr().Is6() {
		ether.EthernetType = layers.EthernetTypeIPv6
		all[1] = &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: ip.Protocol, SrcIP: ip.SrcIP, DstIP: ip.DstIP}
	}
	if protocol == "tcp" {
		all = append(all, &layers.TCP{SrcPort: layers.TCPPort(src.Port()), DstPort: layers.TCPPort(dst.Port()), SYN: true})
	} else {
		all = append(all, &layers.UDP{SrcPort: layers.UDPPort(src.Port()), DstPort: layers.UDPPort(dst.Port())})
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, all...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCheck: in both formats, a flow of a user without a label is found, and one with two; strangers are none of it.
func TestCheck(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	label := func(protocol, from, to string, after, lasts time.Duration) Label {
		l := Label{Flow: diary.Flow{Protocol: protocol, From: at(from), To: at(to), At: began.Add(after)}, Ended: began.Add(after + lasts)}
		return l
	}
	labels := []Label{label("tcp", "10.0.0.3:1000", "10.0.0.1:80", 0, time.Second), label("udp", "[fd00::3]:5", "[fd00::4]:6", 0, time.Minute),
		label("tcp", "10.0.0.3:1000", "10.0.0.1:80", 10*time.Second, time.Second), label("tcp", "10.0.0.5:9", "10.0.0.1:80", 0, time.Second)}
	type seen struct {
		after              time.Duration
		protocol, from, to string
	}
	good := []seen{{0, "tcp", "10.0.0.3:1000", "10.0.0.1:80"}, {time.Millisecond, "tcp", "10.0.0.1:80", "10.0.0.3:1000"}, {time.Second, "udp", "[fd00::4]:6", "[fd00::3]:5"},
		{10 * time.Second, "tcp", "10.0.0.3:1000", "10.0.0.1:80"}, {0, "tcp", "10.0.0.77:1000", "10.0.0.1:80"}}
	write := func(packets []seen, ng bool) *bytes.Buffer {
		var out bytes.Buffer
		var to interface {
			WritePacket(gopacket.CaptureInfo, []byte) error
		}
		old := pcapgo.NewWriter(&out)
		to = old
		if ng {
			w, err := pcapgo.NewNgWriter(&out, layers.LinkTypeEthernet)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Flush()
			to = w
		} else if err := old.WriteFileHeader(65536, layers.LinkTypeEthernet); err != nil {
			t.Fatal(err)
		}
		for _, p := range packets {
			data := packet(t, p.protocol, p.from, p.to)
			if err := to.WritePacket(gopacket.CaptureInfo{Timestamp: began.Add(p.after), CaptureLength: len(data), Length: len(data)}, data); err != nil {
				t.Fatal(err)
			}
		}
		return &out
	}
	for _, ng := range []bool{false, true} {
		c, err := Check(labels, write(good, ng))
		if err != nil || c.Packets != 4 || c.Flows != 3 || c.Unseen != 1 || len(c.UnseenFlows) != 1 || c.Unlabelled != nil || c.Twice != nil {
			t.Errorf("ng %v: %v, %+v", ng, err, c)
		}
		c, err = Check(labels, write(append(good, seen{0, "udp", "10.0.0.3:1000", "10.0.0.1:80"}, seen{-time.Minute, "tcp", "10.0.0.9:7", "10.0.0.5:9"}), ng))
		if err != nil || len(c.Unlabelled) != 2 || c.Unlabelled[1] != "udp 10.0.0.1:80 10.0.0.3:1000" {
			t.Errorf("ng %v: %v, %+v", ng, err, c)
		}
	}
	twice := append(labels, label("tcp", "10.0.0.3:1000", "10.0.0.1:80", 10*time.Second+time.Millisecond, time.Second))
	if c, err := Check(twice, write(good, true)); err != nil || len(c.Twice) != 1 || c.Twice[0] != "tcp 10.0.0.1:80 10.0.0.3:1000" {
		t.Errorf("%v, %+v", err, c)
	}
	whole := write(good, false).Bytes()
	if c, err := Check(labels, bytes.NewReader(whole[:len(whole)-3])); err != nil || c.Packets != 4 {
		t.Errorf("cut off: %v, %+v", err, c)
	}
	for _, none := range []string{"", "no capture at all"} {
		if _, err := Check(labels, strings.NewReader(none)); err == nil {
			t.Errorf("%q is a capture", none)
		}
	}
}
