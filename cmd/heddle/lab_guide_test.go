package main

import (
	"os"
	"regexp"
	"testing"
)

// TestLabGuide types what docs/guides/lab.md says, from the first block to the
// last.
func TestLabGuide(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/lab.md")
	if err != nil {
		t.Fatal(err)
	}
	script := "set -ex\n"
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllSubmatch(text, -1)
	for _, b := range blocks {
		script += string(b[1])
	}
	if len(blocks) < 5 {
		t.Fatalf("%d blocks", len(blocks))
	}
	if !alone(t) {
		return
	}
	shell(t, script+"test ! -e /run/heddle-lab\n")
}
