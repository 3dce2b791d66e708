package docker

import (
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestComposeWords: who writes a Compose file is told what to write there.
func TestComposeWords(t *testing.T) {
	for remedy, want := range map[string]string{
		"create it with --ipam-driver heddle": "create it with --ipam-driver heddle (Compose: ipam: {driver: heddle})",
		"give one with --subnet":              "give one with --subnet (Compose: ipam: {driver: heddle, config: [{subnet: CIDR}]})",
		"leave --parent out":                  "leave --parent (docker: -o parent=NAME, Compose: driver_opts: {parent: NAME}) out",
		"start the agent":                     "start the agent",
	} {
		if got := inDockerWords(remedy); got != want {
			t.Errorf("%s: %s, want %s", remedy, got, want)
		}
	}
	// what a Compose file with nothing but "driver: heddle" is answered
	got := errorText(heddle.Errorf(heddle.DockerIPAM, "create network", "", "", "create it with --ipam-driver heddle, or on this host alone with -o mode=bridge"))
	if !strings.Contains(got, "with -o mode=bridge (Compose: driver_opts: {mode: bridge}) [HDL-5003]") {
		t.Error(got)
	}
}
