package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCrowdImport: what import prints can be checked, and its errors change nothing and say what to do.
func TestCrowdImport(t *testing.T) {
	timelines := []string{"../../crowd/ghosts/testdata/clerk.json", "../../crowd/ghosts/testdata/admin.json"}
	got := call(t, append([]string{"crowd", "import", "--users", "7"}, timelines...)...)
	if got.code != 0 || !strings.Contains(got.stderr, "left out: "+timelines[0]+": a handler Word") {
		t.Fatalf("%+v", got)
	}
	file := filepath.Join(t.TempDir(), "range.yaml")
	if err := os.WriteFile(file, []byte(got.stdout), 0o644); err != nil {
		t.Fatal(err)
	}
	if checked := call(t, "crowd", "check", file); checked.code != 0 || !strings.Contains(checked.stdout, "users:   7\n") {
		t.Errorf("%+v", checked)
	}
	var made crowdImport
	again := call(t, append([]string{"crowd", "import", "--users", "7", "-o", "json"}, timelines...)...)
	if err := json.Unmarshal([]byte(again.stdout), &made); err != nil || made.Scenario != got.stdout || len(made.LeftOut) != 3 {
		t.Errorf("%v: %+v", err, made)
	}
	for want, args := range map[string][]string{
		"argument TIMELINE... is missing": nil,
		"none of 1 to":                    {"--users", "0", timelines[0]},
		"no such file":                    {"nowhere.json"},
		"is a directory":                  {"."},
		"give a timeline of GHOSTS":       {file},
		"larger than 262144 bytes":        {"/dev/zero"},
	} {
		if bad := call(t, append([]string{"crowd", "import"}, args...)...); bad.code == 0 || bad.stdout != "" || !strings.Contains(bad.stderr, want) {
			t.Errorf("%v: %+v, want %q", args, bad, want)
		}
	}
}
