package bpf

import (
	"net/netip"

	"github.com/heddle-network/heddle"
)

// Counts reads what an interface's container has sent and received by the fast
// path, and what was left to the host's stack.
func (f *Fast) Counts(ifindex int) (heddle.FastCounts, error) {
	f.mu.Lock()
	s, known := f.slots[uint32(ifindex)]
	f.mu.Unlock()
	c := noCounts()
	if !known {
		return c, nil
	}
	return c, f.addCounts(&c, s.index)
}

// Totals sums all up, with the packets of nobody.
func (f *Fast) Totals() (heddle.FastCounts, error) {
	f.mu.Lock()
	slots := []uint32{0}
	for _, s := range f.slots {
		slots = append(slots, s.index)
	}
	f.mu.Unlock()
	c := noCounts()
	for _, i := range slots {
		if err := f.addCounts(&c, i); err != nil {
			return c, err
		}
	}
	return c, nil
}

func noCounts() heddle.FastCounts {
	return heddle.FastCounts{Packets: map[string]uint64{}, Bytes: map[string]uint64{}, Missed: map[string]uint64{}}
}

func (f *Fast) addCounts(c *heddle.FastCounts, slot uint32) error {
	var perCPU []fastCount
	if err := f.objects.Counts.Lookup(slot, &perCPU); err != nil {
		return err
	}
	for _, one := range perCPU {
		for i, name := range heddle.FastPaths {
			c.Packets[name] += one.Packets[i]
			c.Bytes[name] += one.Bytes[i]
		}
		for i, name := range heddle.FastMisses {
			c.Missed[name] += one.Missed[i]
		}
	}
	return nil
}

// takeSlot gives an interface its place among the counters, emptied. Should there
// be none left, it is counted among what belongs to nobody (0).
func (f *Fast) takeSlot(ifindex uint32) (uint32, error) {
	s, known := f.slots[ifindex]
	if !known {
		s.index = f.spareSlot()
		zero := make([]fastCount, f.cpus)
		if err := f.objects.Counts.Put(s.index, zero); s.index != 0 && err != nil {
			return 0, err
		}
		if err := f.objects.Forwards.Put(s.index, uint8(0)); err != nil {
			return 0, err
		}
	}
	s.users++
	f.slots[ifindex] = s
	return s.index, nil
}

func (f *Fast) spareSlot() uint32 {
	if n := len(f.spare); n > 0 {
		i := f.spare[n-1]
		f.spare = f.spare[:n-1]
		return i
	}
	if f.highest+1 == f.objects.Counts.MaxEntries() {
		return 0
	}
	f.highest++
	return f.highest
}

func (f *Fast) giveSlot(ifindex uint32) {
	s, known := f.slots[ifindex]
	if !known {
		return
	}
	if s.users--; s.users > 0 {
		f.slots[ifindex] = s
		return
	}
	delete(f.slots, ifindex)
	if s.index != 0 {
		f.spare = append(f.spare, s.index)
	}
}

// readSlots learns which places among the counters are taken.
func (f *Fast) readSlots() error {
	used := map[uint32]bool{}
	err := f.each(func(_ netip.Prefix, v fastPlace) {
		if v.Ifindex != 0 {
			f.slots[v.Ifindex] = slot{v.Slot, f.slots[v.Ifindex].users + 1}
			used[v.Slot] = true
			f.highest = max(f.highest, v.Slot)
		}
	})
	for i := uint32(1); i < f.highest; i++ {
		if !used[i] {
			f.spare = append(f.spare, i)
		}
	}
	return err
}
