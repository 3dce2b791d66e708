package bpf_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// try gives a packet to a program and compares with what must become of it, and with
// what is counted.
func (r *rig) try(t *testing.T, in input, want verdict) {
	t.Helper()
	before := r.counted(t)
	code, out, err := r.run(in)
	cell.Must(t, err)
	if fault := compare(want, code, out); fault != "" {
		t.Errorf("%s\nof % x", fault, in.frame)
	}
	want.count(before)
	if got := r.counted(t); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("counted %v, want %v\nof % x", got, before, in.frame)
	}
}

// compare tells what is wrong with a program's answer.
func compare(want verdict, code int, out []byte) string {
	fault := ""
	if want.path == "sent" && code == redirect && len(out) > front(out) {
		fault, out = varying(out)
	}
	switch {
	case code != want.code:
		return fmt.Sprintf("the program answers %d, want %d (%s%s)", code, want.code, want.path, want.miss)
	case !bytes.Equal(out, want.out):
		return fmt.Sprintf("the packet is\n% x, want\n% x", out, want.out)
	}
	return fault
}

// varying checks what differs from one outer header to the next, and sets it to 0.
func varying(b []byte) (fault string, out []byte) {
	out = bytes.Clone(b)
	at := []int{front(b) - behind}
	if front(b) == front4 {
		at = append(at, 18, 24)
		if !summed(b[14:34]) {
			fault = fmt.Sprintf("the outer header's checksum is wrong: % x", b[14:34])
		}
	}
	if !tunnelSource(b[at[0]:]) {
		fault = fmt.Sprintf("the outer source port is %d", binary.BigEndian.Uint16(b[at[0]:]))
	}
	for _, i := range at {
		out[i], out[i+1] = 0, 0
	}
	return fault, out
}

// count adds the verdict to counters.
func (v verdict) count(all map[string]uint64) {
	if v.path != "" {
		all["packets "+v.path+" "+v.who]++
		header := 14
		if v.path == "sent" {
			header = front(v.out)
		}
		all["bytes "+v.path+" "+v.who] += uint64(len(v.out) - header)
	}
	if v.miss != "" {
		all["missed "+v.miss+" "+v.who]++
	}
}

// counted reads all counters that are not 0, by whose they are.
func (r *rig) counted(t *testing.T) map[string]uint64 {
	t.Helper()
	all := map[string]uint64{}
	total, err := r.Totals()
	cell.Must(t, err)
	nobody := map[string]map[string]uint64{"packets": total.Packets, "bytes": total.Bytes, "missed": total.Missed}
	for _, e := range rigEndpoints {
		c, err := r.Counts(r.index[e.link])
		cell.Must(t, err)
		for what, counts := range map[string]map[string]uint64{"packets": c.Packets, "bytes": c.Bytes, "missed": c.Missed} {
			for name, n := range counts {
				nobody[what][name] -= n
				if n > 0 {
					all[what+" "+name+" "+e.link] = n
				}
			}
		}
	}
	for what, counts := range nobody {
		for name, n := range counts {
			if n > 0 {
				all[what+" "+name+" "] = n
			}
		}
	}
	return all
}

// carried fails the test unless the verdict is a path: what the test expects is not
// left to the model.
func carried(t *testing.T, v verdict, path string) verdict {
	t.Helper()
	if v.path != path {
		t.Fatalf("the model says %q %q, want %s", v.path, v.miss, path)
	}
	return v
}

// TestCarry: all protocols of both families go by all paths; what comes out is what
// the model says, and packets with right lengths and checksums.
func TestCarry(t *testing.T) {
	r := newRig(t)
	for _, v6 := range []bool{false, true} {
		far := map[bool][]string{false: {"10.1.0.65", "10.1.0.5", "10.1.0.193"}, true: {"fd01::41", "fd01::5", "fd01::c1"}}[v6]
		for _, proto := range protocols {
			for _, size := range []int{0, 1, 7, 1000} {
				k := talk{v6: v6, proto: proto, size: size, ttl: 2, tos: 0x28}
				k.from, k.to = "porta", "portb"
				r.carries(t, input{link: "porta", frame: r.out(k)}, "local")
				k.from, k.to = "portd", "porte"
				r.carries(t, input{link: "portd", frame: r.out(k)}, "local")
				for i, there := range far {
					k.from, k.to = "porta", there
					r.carries(t, input{link: "porta", frame: r.out(k)}, "sent")
					k.from, k.to = there, "portb"
					outer := []netip.Addr{remote, remote, remote6}[i]
					in := input{wire: true, link: "wire0", frame: r.tunnelled(k, outer, 0)}
					if v6 != outer.Is6() && r.alike {
						r.try(t, in, left("portb", "kernel", in.frame))
						continue
					}
					r.carries(t, in, "received")
				}
			}
		}
	}
}

func (r *rig) carries(t *testing.T, in input, path string) {
	t.Helper()
	v := r.judge(in)
	r.try(t, in, carried(t, v, path))
	whole := v.out
	if path == "sent" {
		whole = whole[front(whole)-14:]
	}
	sound(t, whole)
}

func (r *rig) judge(in input) verdict {
	if in.wire {
		return r.arrive(in.gso, in.frame)
	}
	return r.port(in.link, in.gso, in.frame)
}

// sound checks the length and checksum in a frame's IP header; what is behind it the
// programs leave alone.
func sound(t *testing.T, b []byte) {
	t.Helper()
	switch {
	case b[14]>>4 == 6 && int(binary.BigEndian.Uint16(b[18:]))+54 == len(b):
	case b[14]>>4 == 4 && int(binary.BigEndian.Uint16(b[16:]))+14 == len(b) && summed(b[14:34]):
	default:
		t.Errorf("length or checksum are wrong in % x", b)
	}
}

// summed reports whether an IPv4 header's checksum is right (RFC 1071).
func summed(b []byte) bool {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return sum == 0xffff
}
