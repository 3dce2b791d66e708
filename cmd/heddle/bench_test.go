package main

import (
	"strings"
	"testing"
)

// TestBenchRefusesEarly: what is wrong with the flags is said before a lab is made.
func TestBenchRefusesEarly(t *testing.T) {
	for want, argv := range map[string][]string{
		"slow":       {"--preset", "slow"},
		"pong":       {"--probes", "pong"},
		"wet":        {"--wire", "wet"},
		"1, 2, or":   {"--hosts", "3"},
		"warp":       {"--modes", "host,warp", "--probes", "ping"},
		"yardstick":  {"--modes", "bridge,routed", "--probes", "ping"},
		"one round":  {"--rounds", "0", "--probes", "ping"},
		"0.2 s":      {"--duration", "1ms", "--probes", "ping"},
		"pairs":      {"--pairs", "0", "--probes", "ping"},
		"same-core":  {"--placement", "moon", "--probes", "ping"},
		"nonsense":   {"--probes", "ping", "--fail-if", "nonsense"},
		"slots for":  {"--probes", "ping", "--plug"},
		"not meas":   {"--probes", "ping", "--plug", "--machines", "6.12", "--modes", "host,bridge"},
		"no plugged": {"--probes", "ping", "--plug=bridge", "--machines", "6.12", "--modes", "host,bridge"},
		"twice":      {"--probes", "ping", "--plug=direct,direct", "--machines", "6.12", "--modes", "host,direct"},
		"cross no":   {"--probes", "ping", "--plug", "--machines", "6.12", "--modes", "host,direct", "--wire", "cut"},
		"emulated":   {"--probes", "ping", "--icount"},
	} {
		cmd := newBench(newSession(processEnv{getenv: func(string) string { return "" }, stdout: &strings.Builder{}, stderr: &strings.Builder{}}))
		cmd.SetArgs(argv)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", argv, err)
		}
	}
}
