package voice

import "time"

const (
	// Buffer is how long packets are kept before they are played, so that jitter does not matter: no source, a
	// usual value.
	Buffer = 60 * time.Millisecond
	// packet is how much sound a packet has. The first of it waits for the last before the packet is sent.
	packet = 20 * time.Millisecond
)

// Leg is one direction of a call. It keeps how many packets came with which delay, to a millisecond. Its zero value is
// ready.
type Leg struct {
	delays [1000]uint32 // the last one has all that are longer
	came   int
	least  time.Duration
}

// Arrive counts a packet that came, by how long it was on its way.
func (l *Leg) Arrive(delay time.Duration) {
	if l.came == 0 || delay < l.least {
		l.least = delay
	}
	l.came++
	l.delays[min(max(0, int(delay/time.Millisecond)), len(l.delays)-1)]++
}

// Heard is what became of the packets of a leg, of which so many were sent: the mouth-to-ear delay, and the share that
// was not played, since it was lost or came later than the buffer allows.
func (l *Leg) Heard(sent int) (delay time.Duration, lost float64) {
	if sent == 0 {
		return 0, 0
	}
	if l.came == 0 {
		return 0, 1
	}
	deadline := l.least + Buffer
	played := 0
	for ms, n := range l.delays {
		if time.Duration(ms)*time.Millisecond <= deadline {
			played += int(n)
		}
	}
	return deadline + packet, max(0, 1-float64(played)/float64(sent))
}
