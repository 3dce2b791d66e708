package plan

import "time"

// level counts what opens and closes in each second.
type level struct{ opened, closed []int64 }

func newLevel(length time.Duration) *level {
	seconds := length/time.Second + 1
	return &level{make([]int64, seconds), make([]int64, seconds)}
}

// add counts one more, from a time to another; what is open at the end is not counted as closed.
func (l *level) add(from, to time.Duration, count int64) {
	if i := int(from / time.Second); i < len(l.opened) {
		l.opened[i] += count
	}
	if i := int(to / time.Second); i < len(l.closed) {
		l.closed[i] += count
	}
}

// peak is the most that are open in a second, or were within so many seconds before.
func peak(after int, all ...*level) (most int64) {
	now := int64(0)
	for i := range all[0].opened {
		for _, l := range all {
			now += l.opened[i]
		}
		most = max(most, now)
		if past := i - after; past >= 0 {
			for _, l := range all {
				now -= l.closed[past]
			}
		}
	}
	return most
}
