package bpf

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestSlots: totals never fall when endpoints go, whichever agent sees them go, and
// those that found no room for counters of their own spoil nobody's.
func TestSlots(t *testing.T) {
	f, err := Open(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	number := uint32(0)
	come := func(ifindex int) heddle.Shortcut {
		t.Helper()
		number++
		s := heddle.Shortcut{Prefix: heddle.Single(netip.AddrFrom4([4]byte{10, 1, 0, byte(number)})), Link: fmt.Sprint("port", ifindex), Group: 1}
		if err := f.Put(s, ifindex); err != nil {
			t.Fatal(err)
		}
		return s
	}
	carry := func(ifindex uint32, packets uint64) {
		t.Helper()
		all := make([]fastCount, f.cpus)
		all[f.cpus-1].Packets[0], all[0].Missed[1] = packets, 1
		if err := f.objects.Counts.Put(f.slots[ifindex].index, all); err != nil {
			t.Fatal(err)
		}
	}
	total := func(what string, packets, missed uint64) {
		t.Helper()
		c, err := f.Totals()
		if err != nil || c.Carried() != packets || c.Left() != missed {
			t.Errorf("%s: %d carried, %d left, %v; want %d, %d", what, c.Carried(), c.Left(), err, packets, missed)
		}
	}
	first, second := come(11), come(12)
	also := come(11)
	carry(11, 100)
	carry(12, 20)
	total("two endpoints", 120, 2)
	drop := func(s heddle.Shortcut) {
		t.Helper()
		if err := f.Drop(s.Prefix); err != nil {
			t.Fatal(err)
		}
	}
	drop(first)
	total("one address of the first is gone", 120, 2)
	drop(also)
	total("the first is gone", 120, 2)
	third := come(13)
	if c, err := f.Counts(13); err != nil || c.Carried() != 0 {
		t.Errorf("a new endpoint begins with %d, %v", c.Carried(), err)
	}
	total("another in its place", 120, 2)
	carry(13, 3)
	drop(second)
	drop(third)
	total("all are gone", 123, 3)

	f.highest, f.spare = f.goneSlot()-2, nil
	come(14)
	come(15)
	come(16) // no room
	if f.slots[14].index != f.goneSlot()-1 || f.slots[15].index != 0 || f.slots[16].index != 0 {
		t.Fatalf("slots %v", f.slots)
	}
	carry(15, 7) // nobody's
	if err := f.objects.Forwards.Put(uint32(0), uint8(1)); err != nil {
		t.Fatal(err)
	}
	come(17)
	total("no room for some", 130, 4)
	var marked uint8
	if err := f.objects.Forwards.Lookup(uint32(0), &marked); err != nil || marked != 1 {
		t.Errorf("those without room are taken for forwarding no more: %d, %v", marked, err)
	}
	if c, err := f.Counts(15); err != nil || c.Carried() != 0 {
		t.Errorf("an endpoint without counters of its own has carried %d, %v", c.Carried(), err)
	}
}
