package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/doctor"
	"github.com/heddle-network/heddle/door/client"
	"github.com/heddle-network/heddle/names"
)

// hostile is what others may choose: orders to a terminal in 7 and 8 bits, lines of their
// own, letters turned round, letters that are not seen, and bytes that are no text.
const hostile = "x\x1b[2J\x1b[31m\u009b31m\x7f\nhost9   alive\r\u202egnp.exe\u2066\u200b\ufeff\xff\x07"

// TestNothingUnseen has every kind of screen show what others chose: nothing reaches the
// terminal that is not to be seen, and no line that is not ours.
func TestNothingUnseen(t *testing.T) {
	id := heddle.EndpointID{Container: hostile, IfName: hostile}
	n := heddle.Network{ID: hostile, Name: hostile, Mode: hostile, Parent: hostile, Options: map[string]string{hostile: hostile}, Limits: []string{hostile},
		Docker: &heddle.DockerNetwork{Labels: map[string]string{hostile: hostile}}}
	e := heddle.Endpoint{ID: id, Network: hostile, NetworkName: hostile, Netns: hostile, Port: hostile}
	entry := names.Entry{Name: hostile, Network: hostile, Host: hostile, Endpoint: id, Clash: true}
	peer := heddle.PeerStatus{Name: hostile, ID: hostile, Path: hostile, State: hostile}
	status := heddle.Status{Host: hostile, Version: hostile, Kernel: hostile, Parts: []heddle.PartStatus{{Name: hostile, State: hostile, Detail: hostile}},
		Networks: []heddle.NetworkStatus{{Name: hostile, Mode: hostile}}}
	for name, screen := range map[string]func(s *session) error{
		"host list": func(s *session) error {
			return s.clusterTable(printTo(s.stdout), []client.HostStatus{{Name: hostile, Role: hostile, State: hostile, Version: hostile, Refused: []string{hostile}, Incomplete: hostile}})
		},
		"status": func(s *session) error { return s.statusScreen(printTo(s.stdout), status) },
		"explain": func(s *session) error {
			return s.explained(printTo(s.stdout), hostile, nil, []heddle.Finding{{Kind: hostile, Object: hostile, Detail: hostile}})
		},
		"network list":  func(s *session) error { return s.networkTable(s.stdout, []heddle.Network{n}) },
		"network show":  func(s *session) error { return s.networkFields(s.stdout, n, nil) },
		"endpoint list": func(s *session) error { return s.endpointTable(s.stdout, []heddle.Endpoint{e}) },
		"endpoint show": func(s *session) error { return s.endpointFields(s.stdout, e) },
		"name list":     func(s *session) error { return s.nameTable(s.stdout, []names.Entry{entry}) },
		"name show":     func(s *session) error { return s.nameDetails(s.stdout, []names.Entry{entry}) },
		"peer list":     func(s *session) error { return s.peerTable(s.stdout, []heddle.PeerStatus{peer}) },
		"peer show":     func(s *session) error { return s.peerFields(s.stdout, peer) },
		"path list":     func(s *session) error { return s.pathTable(s.stdout, []heddle.PeerStatus{peer}) },
		"audit": func(s *session) error {
			return s.findingTable(s.stdout, []heddle.Finding{{Kind: hostile, Object: hostile, Owner: hostile, Detail: hostile}})
		},
		"done": func(s *session) error { return s.emitDone("X", n, "network %s created", hostile) },
		"note": func(s *session) error { s.note("%s", hostile); return nil },
		"error": func(s *session) error {
			s.printError(heddle.Errorf(heddle.NoEndpoint, "show endpoint", hostile, hostile, hostile))
			return nil
		},
		"doctor": func(s *session) error {
			return s.diagnosisScreen(printTo(s.stdout), doctorReport{Items: []doctor.Finding{{ID: hostile, Title: hostile, Evidence: []string{hostile}, Remedy: []string{hostile}, Fixed: []string{hostile}}}}, true)
		},
	} {
		var out bytes.Buffer
		s := newSession(processEnv{stdout: &out, stderr: &out, getenv: func(string) string { return "" }})
		if err := screen(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if at := strings.IndexFunc(out.String(), func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) && r != '\n' }); at >= 0 {
			t.Errorf("%s shows %q", name, out.String()[at:])
		}
		if strings.Contains(out.String(), "\nhost9") || !strings.Contains(out.String(), `\x1b[2J`) {
			t.Errorf("%s shows\n%s", name, out.String())
		}
	}
}

// TestDocumentsUnseen: documents hold the same text, and nothing that is not to be seen.
func TestDocumentsUnseen(t *testing.T) {
	for _, format := range []string{formatJSON, formatYAML} {
		var out bytes.Buffer
		if err := writeDocument(&out, format, "X", map[string]string{"name": strings.ToValidUTF8(hostile, "") + "\U000e0001"}); err != nil {
			t.Fatal(err)
		}
		if at := strings.IndexFunc(out.String(), func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }); at >= 0 {
			t.Errorf("%s has %q", format, out.String()[at:])
		}
		var back map[string]string
		decode := json.Unmarshal
		if format == formatYAML {
			decode = func(b []byte, v any) error { return yaml.Unmarshal(b, v) }
		}
		if err := decode(out.Bytes(), &back); err != nil || back["name"] != strings.ToValidUTF8(hostile, "")+"\U000e0001" {
			t.Errorf("%s: %v: %q", format, err, back["name"])
		}
	}
}

// TestColourOfOthers: only our colours reach a terminal.
func TestColourOfOthers(t *testing.T) {
	var out bytes.Buffer
	if _, err := printTo(&out).Write([]byte(colourMark(red) + oneLine("bad\x1b[0m\x1b[31;12m") + colourMark(resetColour))); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[31mbad\\x1b[0m\\x1b[31;12m\x1b[0m"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
