package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestLeft: what few tests were left out for has a line each; what many were, one for each package.
func TestLeft(t *testing.T) {
	var events strings.Builder
	skip := func(pkg, test, why string) {
		for _, e := range []string{`"Action":"run"`, `"Action":"output","Output":"    a_test.go:1: ` + why + `\n"`, `"Action":"skip"`} {
			fmt.Fprintf(&events, `{"Package":%q,"Test":%q,%s}`+"\n", module+"/"+pkg, test, e)
		}
	}
	for i := range many {
		skip("test/a", fmt.Sprintf("TestParts/%d", i), "another turn")
	}
	skip("test/a", "TestWhole", "another turn")
	skip("b", "TestWhole", "another turn")
	skip("b", "TestAlone", "no such kernel")
	text, _ := report(t, []byte(events.String()))
	want := "\nLeft out on this machine:\n  b TestAlone: no such kernel\n  14 tests: another turn\n    b: TestWhole\n    test/a: TestParts (12 parts), TestWhole\n\n"
	if !strings.Contains(text, want) {
		t.Errorf("the report is\n%s\nand not\n%s", text, want)
	}
}
