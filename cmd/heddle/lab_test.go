package main

import (
	"testing"

	"github.com/heddle-network/heddle/impair"
)

func TestRates(t *testing.T) {
	for in, want := range map[string]string{
		"10gbit": "10 Gbit/s", "1.5Gbit": "1.5 Gbit/s", "100mbit": "100 Mbit/s", "64kbit": "64 Kbit/s",
		"800bit": "800 Bit/s", "1000mbit": "1 Gbit/s", "1tbit": "1 Tbit/s", "unlimited": "unlimited",
	} {
		bits, err := impair.ParseRate(in)
		if err != nil || bitRate(bits) != want {
			t.Errorf("%q: %d, %v, written as %s", in, bits, err, bitRate(bits))
		}
	}
	for _, in := range []string{"10", "gbit", "-1gbit", "0bit", "10 gbit", "NaNgbit", "Infbit", "1e40bit", "1gbyte"} {
		if bits, err := impair.ParseRate(in); err == nil {
			t.Errorf("%q: accepted as %d", in, bits)
		}
	}
}
