package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/lab"
	"github.com/heddle-network/heddle/test/soak"
)

// TestLabGuide types what docs/guides/lab.md says, from the first block to the
// last.
func TestLabGuide(t *testing.T) {
	soak.Turn(t, 0)
	script := "set -ex\n" + guideBlocks(t, "lab.md", 5)
	if alone(t) {
		shell(t, script+"test ! -e /run/heddle-lab\n")
	}
}

// TestMachineNICsGuide types what docs/guides/machine-nics.md says.
func TestMachineNICsGuide(t *testing.T) {
	soak.Turn(t, 1)
	script := "set -ex\n" + guideBlocks(t, "machine-nics.md", 4)
	if reason := lab.MissingForMachines("6.12"); reason != "" {
		if os.Getenv("HEDDLE_REQUIRE_VM") == "1" {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	if alone(t) {
		shell(t, script+"wait\ntest ! -e /run/heddle-lab\n")
	}
}

// TestCommandsGuide types what docs/guides/commands.md says.
func TestCommandsGuide(t *testing.T) {
	script := withAgent + guideBlocks(t, "commands.md", 5)
	if alone(t) {
		shell(t, script+"heddle audit\ntest -z \"$(heddle network list -q)\"\n")
	}
}

// TestPoliciesGuide types what docs/guides/policies.md says.
func TestPoliciesGuide(t *testing.T) {
	soak.Turn(t, 2)
	script := withAgent + guideBlocks(t, "policies.md", 1)
	if alone(t) {
		shell(t, script+"heddle audit\ntest -z \"$(heddle network list -q)\"\n")
	}
}

// TestLimitsGuide types what docs/guides/limits.md says.
func TestLimitsGuide(t *testing.T) {
	soak.Turn(t, 0)
	script := withAgent + guideBlocks(t, "limits.md", 1)
	if alone(t) {
		shell(t, script+"heddle audit\ntest -z \"$(heddle network list -q)\"\n")
	}
}

// TestHAVIPGuide types what docs/guides/havip.md says.
func TestHAVIPGuide(t *testing.T) {
	soak.Turn(t, 1)
	script := withAgent + guideBlocks(t, "havip.md", 1)
	if alone(t) {
		shell(t, script+"heddle audit\ntest -z \"$(heddle network list -q)\"\n")
	}
}

// TestCrowdGuide types what docs/guides/crowd.md says. On a machine that is busy with other tests, a run may say that
// it was late.
func TestCrowdGuide(t *testing.T) {
	soak.Turn(t, 0)
	const late = " 2> said || { cat said >&2; grep HDL-9002 said; }\n"
	typed, runs := guideBlocks(t, "crowd.md", 6), 0
	script := "set -ex\n"
	for line := range strings.Lines(typed) {
		if strings.HasPrefix(line, "heddle crowd run ") || strings.HasPrefix(line, "heddle crowd report ") {
			line, runs = strings.TrimSuffix(line, "\n")+late, runs+1
		}
		script += line
	}
	if runs < 2 {
		t.Error("the guide does not play and report")
	}
	if alone(t) {
		shell(t, script)
	}
}

// guideBlocks returns the commands of a guide, which has so many blocks of them at least.
func guideBlocks(t *testing.T, name string, fewest int) (script string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/guides/" + name)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllSubmatch(text, -1)
	for _, b := range blocks {
		script += string(b[1])
	}
	if len(blocks) < fewest {
		t.Fatalf("%s has %d blocks", name, len(blocks))
	}
	return script
}
