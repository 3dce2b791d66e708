package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/heddle-network/heddle"
)

func TestTopLevel(t *testing.T) {
	for _, c := range []struct {
		doc, value string
		found      bool
	}{
		{`{"socket":"/a"}`, "/a", true},
		{"{ \"socket\" :\n\t\"/a b\" }", "/a b", true},
		{`{"x":{"socket":"/no"},"y":["socket","/no"],"z":"\"socket\":\"/no\"","socket":"/a"}`, "/a", true},
		{`{"socket":"\/a\u0026b\\\""}`, `/a&b\"`, true},
		{`{"socket":"/a","socket":"/b"}`, "/b", true},
		{`{"x":"socket"}`, "", false},
		{`{"socket":7}`, "", false},
		{`{"socket":"/a\ud83d\ude00"}`, "", false},
		{`["socket","/a"]`, "", false},
		{`{"socket":"/a`, "", false}, {`{"socket":`, "", false}, {`{"socket"`, "", false}, {`"socket"`, "", false}, {``, "", false},
	} {
		if v, ok := topLevel([]byte(c.doc), "socket"); v != c.value || ok != c.found {
			t.Errorf("%s: %q %v, want %q %v", c.doc, v, ok, c.value, c.found)
		}
	}
}

// FuzzTopLevel compares the scanner with encoding/json on what that accepts.
func FuzzTopLevel(f *testing.F) {
	for _, s := range []string{`{"socket":"/a"}`, `{"a":{"socket":"b"},"socket":"\u0041"}`, `[{"socket":"x"}]`, `{"socket":"a","socket":1}`, `{"socke\u0074":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, found := topLevel(doc, "socket")
		var all map[string]json.RawMessage
		var want string
		if !utf8.Valid(doc) || json.Unmarshal(doc, &all) != nil || strings.Contains(string(doc), `\u`) {
			return
		}
		has := json.Unmarshal(all["socket"], &want) == nil && string(all["socket"]) != "null"
		if found && (!has || got != want) {
			t.Errorf("%s: %q, want %q %v", doc, got, want, has)
		}
		if has && !found && !strings.Contains(want, `\`) && !strings.ContainsAny(string(all["socket"]), `\`) {
			t.Errorf("%s: not found", doc)
		}
	})
}

func TestQuote(t *testing.T) {
	for _, s := range []string{"", `a"b\c`, "tab\tnul\x00del\x7f", "grün\u2028", "\u009b31m\u202etxt.exe", "\U000e0001😀", "bad\xff"} {
		var back string
		if at := strings.IndexFunc(quote(s), func(r rune) bool { return r < ' ' || r >= 0x7f }); at >= 0 {
			t.Errorf("%q: %q is not shown by its number", s, quote(s)[at:])
		}
		if err := json.Unmarshal([]byte(quote(s)), &back); err != nil || back != strings.ToValidUTF8(s, "\ufffd") {
			t.Errorf("%q: %s %q %v", s, quote(s), back, err)
		}
	}
}

// TestSameAsAgent keeps what is written here by hand in step with package
// heddle, which this program does not import.
func TestSameAsAgent(t *testing.T) {
	if agentDown != string(heddle.AgentDown) {
		t.Error(agentDown)
	}
	for _, id := range []string{"a", "A-b_c.9", "", ".", "..", "-a", "_a", "a/b", "a b", "a\n", "grün", strings.Repeat("a", 128), strings.Repeat("a", 129), strings.Repeat("a", 300)} {
		agrees := (heddle.EndpointID{Container: id, IfName: "eth0"}).Check() == nil
		if validContainer(id) != agrees {
			t.Errorf("container %q: %v, the agent says %v", id, !agrees, agrees)
		}
	}
	names := []string{"eth0", "", ".", "..", "a@b", "a/b", "a:b", "a b", "a\x7f", "ä", strings.Repeat("e", 15), strings.Repeat("e", 16)}
	for _, name := range names {
		agrees := heddle.CheckIfName(name) == nil
		if validIfName(name) != agrees {
			t.Errorf("interface %q: %v, the agent says %v", name, !agrees, agrees)
		}
	}
}
