package bench

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestOneRoundInText: one value has no spread and no interval, and shows no difference.
func TestOneRoundInText(t *testing.T) {
	one := stress{modes: []string{"host", "bridge"}, wires: []string{""}, sizes: []int{64}, pairs: []int{1}, rounds: 1, probes: []Probe{Iperf3{}}}.report()
	one.Environment.Load = "9.00 9.00 9.00"
	var report, comparison bytes.Buffer
	c := Compare(one, one)
	if err := errors.Join(one.Text(&report), c.Text(&comparison)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"report": report.String(), "comparison": comparison.String()} {
		for _, word := range []string{"[95 %]", "IQR", "–", "trust ratios", "1 rounds", "look at the intervals", "clearly"} {
			if strings.Contains(text, word) {
				t.Errorf("the %s has %q:\n%s", name, word, text)
			}
		}
	}
	limits, err := ParseChangeLimits("sure-regression>5%")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(limits); heddle.KindOf(err) != heddle.Usage || !strings.Contains(err.Error(), "--rounds 3") {
		t.Errorf("sure of one round: %v", err)
	}
}
