package boot

import (
	"fmt"
	"time"

	"github.com/klauspost/cpuid/v2"
)

// EmulatedParameters are further parameters where the processor is emulated. They tell the rate of the clock: the emulator's guests read
// this processor's time-stamp counter. A kernel that is not told measures the rate while it boots. On a busy machine it was a quarter too
// low at times, and with that all of its time goes as much too fast (tsc_early_khz in Documentation/admin-guide/kernel-parameters.txt).
func EmulatedParameters() string {
	rate := counterRate()
	if rate == 0 {
		return emulated
	}
	return fmt.Sprintf("%s tsc_early_khz=%d", emulated, rate)
}

// counterRate measures the rate of this processor's time-stamp counter, in kHz. It is 0 if the processor has no instruction that reads it
// (RDTSCP).
func counterRate() uint64 {
	first := readCounter()
	time.Sleep(20 * time.Millisecond)
	last := readCounter()
	return (last.ticks - first.ticks) * 1e6 / uint64(last.at.Sub(first.at))
}

type counterReading struct {
	ticks uint64
	at    time.Time
}

// readCounter reads the counter right after the clock. Of some tries it takes the one that was interrupted least.
func readCounter() (best counterReading) {
	least := time.Hour
	for range 20 {
		at := time.Now()
		ticks := cpuid.CPU.RTCounter()
		if took := time.Since(at); took < least {
			best, least = counterReading{ticks, at}, took
		}
	}
	return best
}
