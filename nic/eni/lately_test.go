package eni

import (
	"net/netip"
	"testing"
	"time"
)

// TestLatelyEnds: what was long ago is forgotten, so many addresses that come and go take no room.
func TestLatelyEnds(t *testing.T) {
	a, b := single(netip.MustParseAddr(four20)), single(netip.MustParseAddr(four21))
	p := &Provider{lately: map[string]map[netip.Prefix]change{"eni-1": {a: {true, time.Now().Add(-lateTime)}}}}
	if p.note("eni-1", false, b); len(p.lately["eni-1"]) != 1 || p.gaveLately("eni-1", a) || p.gaveLately("eni-1", b) {
		t.Errorf("%v", p.lately)
	}
	if p.note("eni-1", true, a); !p.gaveLately("eni-1", a) {
		t.Errorf("%v", p.lately)
	}
}

// TestForget: what is known of a NIC that is gone takes no room.
func TestForget(t *testing.T) {
	p := New(nil, Settings{})
	p.note("eni-1", true, single(netip.MustParseAddr(four20)))
	p.doubt("eni-1")
	if p.forget("eni-1"); len(p.lately)+len(p.sureFrom) > 0 {
		t.Errorf("%v, %v", p.lately, p.sureFrom)
	}
}
