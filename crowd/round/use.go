package round

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/bench"
)

// use is what a machine uses while a crowd plays.
type use struct {
	window bench.Window
	own    time.Duration // processor time of this program, before
	free   func() int64
	least  chan int64
	stop   chan struct{}
}

func beginUse(free func() int64) *use {
	u := &use{own: ownTime(), free: free, least: make(chan int64, 1), stop: make(chan struct{})}
	u.window.Open()
	go u.watch()
	return u
}

// watch looks for the least free memory, each second.
func (u *use) watch() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	least := u.free()
	for {
		select {
		case <-ticker.C:
			least = min(least, u.free())
		case <-u.stop:
			u.least <- min(least, u.free())
			return
		}
	}
}

// end takes the difference. So much memory was free before anybody was attached.
func (u *use) end(r *Round, free int64) {
	u.window.Close()
	cpu := u.window.CPU
	r.Processor = (ownTime() - u.own).Seconds() / u.window.Seconds
	r.Machine = (cpu.User + cpu.System + cpu.SoftIRQ) / u.window.Seconds
	close(u.stop)
	if least := <-u.least; r.Users >= 500 && len(r.Scales) == 0 {
		r.MemoryPerUser = max(0, free-least) / int64(r.Users)
	}
}

// ownTime is the processor time that this program has used.
func ownTime() time.Duration {
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
