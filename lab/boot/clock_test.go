package boot

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestCounterRate: the rate is the same however often it is measured, and that of the processor where the kernel tells it.
func TestCounterRate(t *testing.T) {
	rate := counterRate()
	if rate == 0 {
		t.Skip("this processor has no RDTSCP")
	}
	for range 5 {
		if again := counterRate(); math.Abs(float64(again)/float64(rate)-1) > 0.005 {
			t.Errorf("%d kHz, and then %d kHz", rate, again)
		}
	}
	if text := EmulatedParameters(); !strings.HasPrefix(text, emulated) || !strings.Contains(text, " tsc_early_khz=") {
		t.Errorf("the parameters are %q", text)
	}
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	_, text, has := strings.Cut(string(info), "cpu MHz\t\t: ")
	if !has || !strings.Contains(string(info), " hypervisor ") { // a processor's own clock is another one
		return
	}
	text, _, _ = strings.Cut(text, "\n")
	mhz, err := strconv.ParseFloat(text, 64)
	if err != nil || math.Abs(mhz*1000/float64(rate)-1) > 0.005 {
		t.Errorf("%d kHz were measured; the kernel says %s MHz (%v)", rate, text, err)
	}
}
