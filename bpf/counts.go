package bpf

import (
	"errors"
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
	if !known || s.index == 0 {
		return c, nil
	}
	return c, f.addCounts(&c, s.index)
}

// Totals sums all up, with the packets of nobody and of endpoints that are gone.
func (f *Fast) Totals() (heddle.FastCounts, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slots := map[uint32]bool{0: true, f.goneSlot(): true}
	for _, s := range f.slots {
		slots[s.index] = true
	}
	c := noCounts()
	for i := range slots {
		if err := f.addCounts(&c, i); err != nil {
			return c, err
		}
	}
	return c, nil
}

// goneSlot has the sum of the counters that were given back, so that totals never
// fall: the last one, which no endpoint gets.
func (f *Fast) goneSlot() uint32 { return f.objects.Counts.MaxEntries() - 1 }

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
	}
	if !known && s.index != 0 {
		zero := make([]fastCount, f.cpus)
		if err := errors.Join(f.objects.Counts.Put(s.index, zero), f.objects.Forwards.Put(s.index, uint8(0))); err != nil {
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
	if f.highest+1 >= f.goneSlot() {
		return 0
	}
	f.highest++
	return f.highest
}

// giveSlot gives it back with the last of the interface's addresses.
func (f *Fast) giveSlot(ifindex uint32) error {
	s, known := f.slots[ifindex]
	if !known {
		return nil
	}
	if s.users--; s.users > 0 {
		f.slots[ifindex] = s
		return nil
	}
	delete(f.slots, ifindex)
	if s.index == 0 {
		return nil
	}
	f.spare = append(f.spare, s.index)
	return f.bury(s.index)
}

// bury adds a slot's counters to those of all that are gone.
func (f *Fast) bury(slot uint32) error {
	var last, gone []fastCount
	if err := errors.Join(f.objects.Counts.Lookup(slot, &last), f.objects.Counts.Lookup(f.goneSlot(), &gone)); err != nil {
		return err
	}
	for cpu := range gone {
		for i := range gone[cpu].Packets {
			gone[cpu].Packets[i] += last[cpu].Packets[i]
			gone[cpu].Bytes[i] += last[cpu].Bytes[i]
		}
		for i := range gone[cpu].Missed {
			gone[cpu].Missed[i] += last[cpu].Missed[i]
		}
	}
	return f.objects.Counts.Put(f.goneSlot(), gone)
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
