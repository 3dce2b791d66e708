package eni

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// TestNamed: a file names one cloud.
func TestNamed(t *testing.T) {
	for text, want := range map[string]string{
		"aws: {nics: 1}\n":               "aws",
		"other:\naliyun:\n":              "aliyun", // whose package refuses the other key
		"other: 1\n":                     "it names no cloud; give one of the keys aliyun, aws",
		"":                               "it is empty",
		"[1]\n":                          "line 1",
		"aliyun: {}\naws: {networks: 1}": "line 2, aws: it names two clouds; leave aliyun or aws out",
	} {
		file := filepath.Join(t.TempDir(), "cloud.yaml")
		cell.Must(t, os.WriteFile(file, []byte(text), 0o600))
		name, err := Named(file, "aliyun", "aws")
		if err == nil && name != want || err != nil && (heddle.BadArgument.In(err) == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %q, %v", text, name, err)
		}
	}
}
