package direct

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestWarm: option warm is a number, or the least and the most, beside option plug.
func TestWarm(t *testing.T) {
	for value, want := range map[string][2]int{"": {0, 0}, "0": {0, 0}, "3": {3, 3}, "2-8": {2, 8}, "0-64": {0, 64}, "5-5": {5, 5}} {
		n := heddle.Network{Name: "n", Options: map[string]string{"plug": "lan", "warm": value}}
		if least, most := (Mode{}).WarmNICs(n); [2]int{least, most} != want {
			t.Errorf("warm=%s: %d to %d", value, least, most)
		}
		if err := (Mode{}).Check(heddle.HostFacts{}, n); err != nil {
			t.Errorf("warm=%s: %v", value, err)
		}
	}
	for _, value := range []string{"8-2", "-1", "65", "2-65", "2-", "-", "a", "1-2-3", " 1"} {
		n := heddle.Network{Name: "n", Options: map[string]string{"plug": "lan", "warm": value}}
		if err := (Mode{}).Check(heddle.HostFacts{}, n); heddle.BadOption.In(err) == nil || !strings.Contains(err.Error(), "2-8") {
			t.Errorf("warm=%s: %v", value, err)
		}
	}
	alone := heddle.Network{Name: "n", Parent: "eth1", Options: map[string]string{"warm": "2-8"}}
	if err := (Mode{}).Check(heddle.HostFacts{Links: []heddle.LinkFact{{Name: "eth1"}}}, alone); heddle.BadOption.In(err) == nil {
		t.Errorf("without plug: %v", err)
	}
}
