package nic

// SlotsPerCPU is for how many slots a processor of x86 has interrupts: it has some 200, a NIC of one pair of queues takes three of them, and
// the port of a slot takes one. Linux does without a NIC for which none are left (-ENOSPC).
const SlotsPerCPU = 32

// QueuePairs is how many pairs of queues each NIC of a machine should have, if all its slots had a NIC: one for each processor (as the
// Virtual I/O Device specification 1.2, 5.1.6.5.5, has in mind), or as many as there are interrupts for. A pair takes two of them, and a NIC and its slot
// two more. It is 0 where NICs have to share those of their slots.
func QueuePairs(slots, cpus int) int {
	const perCPU = 4 * SlotsPerCPU
	if slots == 0 {
		return cpus
	}
	return max(0, min(cpus, (perCPU*cpus/slots-2)/2))
}
