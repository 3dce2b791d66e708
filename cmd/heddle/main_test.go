package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// outcome is what a call of the program leaves behind.
type outcome struct {
	code           int
	stdout, stderr string
}

// call runs the program in this process, with a socket on which nobody
// listens.
func call(t *testing.T, args ...string) outcome {
	t.Helper()
	return callEnv(t, map[string]string{"HEDDLE_SOCKET": filepath.Join(t.TempDir(), "none.sock")}, args...)
}

func callEnv(t *testing.T, environ map[string]string, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	execute := func(string, []string, []string) error { return errors.New("no other program in a test") }
	code := run(context.Background(), processEnv{args: args, stdout: &stdout, stderr: &stderr,
		getenv: func(k string) string { return environ[k] }, exec: execute})
	return outcome{code, stdout.String(), stderr.String()}
}

func TestExitCodes(t *testing.T) {
	long := strings.Repeat("x", 300)
	for line, want := range map[string]int{
		"":                      0,
		"--help":                0,
		"version":               0,
		"network":               0,
		"explain HDL-2007":      0,
		"explain hdl-2007":      0,
		"explain forward-drop":  0,
		"doctor list":           0,
		"doctor bogus":          2,
		"doctor --only bogus":   2,
		"bogus":                 2,
		"network bogus":         2,
		"network list extra":    2,
		"network list --bogus":  2,
		"network show":          2,
		"network show a/b":      2,
		"network allow front":   2,
		"version -o xml":        2,
		"explain HDL-9999":      2,
		"completion powershell": 2,
		"network create n":      2,
		"network create n --mode bridge --subnet 10.0.0.1.5/24": 2,
		"network create n --mode bridge --gateway x":            2,
		"network create n --mode bridge --mtu 100":              2,
		"network create n --mode bridge --mtu many":             2,
		"network create n --mode bridge --opt broadcast":        2,
		"network create n --mode bridge --opt a=1 --opt a=2":    2,
		"network create n --mode bridge --parent a/b":           2,
		"network create ../n --mode bridge":                     2,
		"network create " + long + " --mode bridge":             2,
		"attach front":                                        2,
		"attach front --netns web --pid 3":                    2,
		"attach front --pid -3":                               2,
		"attach front --netns web --id a/b":                   2,
		"attach front --netns web --id ..":                    2,
		"attach front --netns web --id " + long:               2,
		"attach front --netns web --ifname eth0/1":            2,
		"attach front --netns web --ifname sixteen-letters-":  2,
		"attach front --netns web --ip 10.0.0":                2,
		"attach front --netns web --mac 01:00:5e:00:00:01":    2,
		"attach front --netns web --publish 80:":              2,
		"attach front --netns web --name -web":                2,
		"attach front --netns web --alias 10.0.0.1":           2,
		"detach a/b/c/d":                                      2,
		"detach default/shop-1":                               3,
		"detach web/eth0 --ifname eth1":                       2,
		"check ../x":                                          2,
		"status --wait --timeout 0s":                          2,
		"lab exec host1 ls":                                   2,
		"lab up --rate 10":                                    2,
		"bench --machines 6.12 --modes host,docker-overlay":   2,
		"lab up --hosts 0":                                    2,
		"crowd":                                               0,
		"crowd example":                                       0,
		"crowd example office":                                0,
		"crowd run":                                           2,
		"crowd run no-file.yaml":                              2,
		"crowd run no-file.yaml --network web --modes bridge": 2,
		"crowd report no-file.json":                           2,
		"network list":                                        3,
		"network create n --mode bridge --subnet 10.0.0.0/24": 3,
		"attach front --netns web":                            3,
		"attach plain --id x":                                 3,
		"detach web":                                          3,
		"endpoint list":                                       3,
		"endpoint show web":                                   3,
		"name list":                                           3,
		"name show web":                                       3,
		"check":                                               3,
		"audit":                                               3,
		"gc":                                                  3,
		"status":                                              3,
		"explain web":                                         3,
		"status --wait --timeout 120ms":                       6,
	} {
		got := call(t, strings.Fields(line)...)
		if got.code != want {
			t.Errorf("heddle %s: exit code %d, want %d\n%s%s", line, got.code, want, got.stdout, got.stderr)
		}
		if got.code != 0 && (got.stdout != "" || !strings.Contains(got.stderr, "  id:   HDL-")) {
			t.Errorf("heddle %s: an error belongs on standard error, with its id:\n%s\n%s", line, got.stdout, got.stderr)
		}
	}
}

func TestErrorDocument(t *testing.T) {
	for _, line := range []string{"-o json network show a/b", "network list --bogus -ojson", "nonsense --output=json", "endpoint list -q -o json", "status --output json"} {
		got := call(t, strings.Fields(line)...)
		var doc struct {
			APIVersion, Kind string
			ID               heddle.Code
		}
		if err := json.Unmarshal([]byte(got.stderr), &doc); err != nil {
			t.Errorf("heddle %s: %v in %s", line, err, got.stderr)
			continue
		}
		if _, known := heddle.Explain(doc.ID); doc.APIVersion != apiVersion || doc.Kind != "Error" || !known {
			t.Errorf("heddle %s: %s", line, got.stderr)
		}
	}
}

// TestSuggestion: who mistypes, or comes from elsewhere, is told a command that exists.
func TestSuggestion(t *testing.T) {
	for word, want := range map[string]string{
		"netwrok": "try 'heddle network'", "ps": "try 'heddle endpoint list'", "inspect": "try 'heddle endpoint show'",
		"zz": "see 'heddle --help'", "statsu": "try 'heddle status'", "network lst": "try 'heddle network list'",
	} {
		if got := call(t, strings.Fields(word)...); !strings.Contains(got.stderr, want) {
			t.Errorf("heddle %s: %s", word, got.stderr)
		}
	}
	for word, known := range wordsElsewhere {
		if cmd, _, err := testTree().Find(strings.Fields(known)); err != nil || cmd.CommandPath() != "heddle "+known {
			t.Errorf("%s: there is no command %q", word, known)
		}
		if cmd, _, err := testTree().Find([]string{word}); err == nil && cmd.HasParent() {
			t.Errorf("%s is a command itself", word)
		}
	}
}

// TestValueWords: a value or a flag that a command does not take is answered in words, not in Go's.
func TestValueWords(t *testing.T) {
	for line, want := range map[string]string{
		"status --timeout 5":                    `--timeout: "5" is not a duration such as 30s`,
		"attach web --default-route=maybe":      `--default-route: "maybe" is not true or false`,
		"network create n --mtu many":           `--mtu: "many" is not a whole number`,
		"bench --sizes a":                       `--sizes: "a" is not whole numbers joined by commas`,
		"lab exec --name small host1 -- true":   "it has --lab; see",
		"completion tcsh":                       "give one of bash, zsh, fish",
		"network create n --mode brdige --nope": "unknown flag: --nope",
	} {
		if got := call(t, strings.Fields(line)...); got.code != int(heddle.Usage) || !strings.Contains(got.stderr, want) {
			t.Errorf("heddle %s: %d %s", line, got.code, got.stderr)
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	code := run(ctx, processEnv{args: []string{"status", "--wait"}, stdout: &out, stderr: &out, getenv: func(string) string { return "" }})
	if code != exitInterrupted {
		t.Errorf("exit code %d, want %d: %s", code, exitInterrupted, &out)
	}
}
