package report

import (
	"slices"
	"strings"
	"testing"
)

// TestServices: what answered is told, and two runs in which it differs are compared, but not gone on with.
func TestServices(t *testing.T) {
	a := Report{Modes: []string{"bridge"}, Rounds: []Round{one(1, "bridge", "", 100)},
		Services: map[string]Service{"chat": {}, "files": {}, "web": {By: "nginx", Version: "1.22.1", TLS: true}}}
	b := a
	b.Services = map[string]Service{"chat": {}, "files": {}, "web": {By: "nginx", Version: "1.26.3"}}
	want := "service web: nginx 1.22.1, TLS, then nginx 1.26.3"
	if err := Comparable(a, b); err != nil {
		t.Error(err)
	}
	if c := Compare(a, b); !slices.Contains(c.Warnings, want) {
		t.Errorf("%v", c.Warnings)
	}
	if err := Resumable(a, b); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
	older := a
	older.Services = nil // a report of a version that had no programs
	if c := Compare(older, b); !slices.Equal(c.Warnings, []string{"service web: built in, then nginx 1.26.3"}) {
		t.Errorf("%v", c.Warnings)
	}
	if got := a.ServiceLines(); !slices.Equal(got, []string{"chat, files: built in", "web: nginx 1.22.1, TLS"}) {
		t.Errorf("%q", got)
	}
	a.Rounds[0].Ended = map[string]string{"web": "nginx ended: exit status 1"}
	if got := a.EndedLines(); !slices.Equal(got, []string{"web, round 1, mode bridge: nginx ended: exit status 1"}) {
		t.Errorf("%q", got)
	}
}

// TestUsers: what users were is told, and two runs in which it differs are compared, but not gone on with.
func TestUsers(t *testing.T) {
	a := Report{Modes: []string{"bridge"}, Rounds: []Round{one(1, "bridge", "", 100)}}
	b := a
	b.As = "podman"
	want := "users: namespaces, then containers of podman"
	if c := Compare(a, b); !slices.Contains(c.Warnings, want) {
		t.Errorf("%v", c.Warnings)
	}
	if err := Resumable(a, b); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--as") {
		t.Errorf("%v", err)
	}
	if c := Compare(b, b); len(c.Warnings) > 0 {
		t.Errorf("%v", c.Warnings)
	}
	b = a
	b.Hosts = 3
	want = "users: namespaces, then namespaces on 3 hosts"
	if err := Resumable(a, b); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--hosts") {
		t.Errorf("%v", err)
	}
}
