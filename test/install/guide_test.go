package install_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// guided are the blocks of the guide that the tests run, by the test that does.
var guided = map[string]string{
	"by-hand": "TestBareDebian", "first": "TestBareDebian, TestSystemd", "purge": "TestBareDebian, TestSystemd",
	"source": "TestMake", "uninstall": "TestMake",
	"deb": "TestBareDebian, TestSystemd", "back": "TestSystemd", "cni": "TestSystemd", "operators": "TestSystemd",
	"networkd": "TestSystemd", "upgrade": "TestSystemd", "remove": "TestSystemd",
	"enable": "TestSystemd", "disable": "TestSystemd",
}

var blockPattern = regexp.MustCompile("(?s)```sh *(\\S*)\n(.*?)```")

// guide returns the commands of docs/guides/install.md by their block's name.
func guide(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/guides/install.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, m := range blockPattern.FindAllStringSubmatch(string(text), -1) {
		blocks[m[1]] = m[2]
	}
	return blocks
}

// TestGuide: every block of commands in the guide is run by some test, and
// every test finds its block.
func TestGuide(t *testing.T) {
	have := slices.Sorted(maps.Keys(guide(t)))
	want := slices.Sorted(maps.Keys(guided))
	if !slices.Equal(have, want) {
		t.Errorf("blocks of the guide: %s\nrun by tests: %s", strings.Join(have, " "), strings.Join(want, " "))
	}
}
