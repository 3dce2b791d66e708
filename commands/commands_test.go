package commands

import (
	"testing"

	"github.com/heddle-network/heddle"
)

// TestEveryKind: there is text for each kind of objects, and for nothing else.
func TestEveryKind(t *testing.T) {
	for _, k := range heddle.ObjectKinds {
		if writers[k.Name] == nil || removers[k.Name] == nil {
			t.Errorf("nobody types kind %s", k.Name)
		}
	}
	if len(writers) != len(heddle.ObjectKinds) || len(removers) != len(heddle.ObjectKinds) {
		t.Errorf("%d writers and %d removers of %d kinds", len(writers), len(removers), len(heddle.ObjectKinds))
	}
}
