package main

import (
	"strings"
	"testing"
)

// TestVPCFlag: --vpc names one agent, and what is said of it is how to start that one.
func TestVPCFlag(t *testing.T) {
	for line, want := range map[string]struct {
		code int
		said string
	}{
		"--vpc ../x status":                                     {2, "check name of VPC ../x"},
		"--vpc absent-vpc status":                               {3, "systemctl start heddled-vpc@absent-vpc"},
		"--vpc red --socket /x status":                          {2, "--vpc and --socket"},
		"status --socket /x --vpc red":                          {2, "--vpc and --socket"},
		"--vpc red nic serve nics.yaml":                         {2, "the service is the host's"},
		"--vpc red vpc route add red 0.0.0.0/0 --next-hop host": {2, "leave --vpc out"},
		"vpc route add absent-vpc ::/0 --next-hop host":         {3, "systemctl start heddled-vpc@absent-vpc"},
		"vpc route add red ::/0 --next-hop hosts":               {2, "or host, or blackhole"},
		"vpc peer red red":                                      {2, "both are the same VPC"},
		"vpc peer red ../x":                                     {2, "check name of VPC ../x"},
		"vpc delete ../x":                                       {2, "check name of VPC ../x"},
		"vpc unpeer absent-vpc other-absent":                    {3, "heddle vpc list"},
	} {
		if got := call(t, strings.Fields(line)...); got.code != want.code || !strings.Contains(got.stderr, want.said) {
			t.Errorf("heddle %s: %+v, want %d and %q", line, got, want.code, want.said)
		}
	}
}
