package hardship_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// TestConfigRefused: what the configuration says wrongly is named with the file,
// and the agent does not run on half of it.
func TestConfigRefused(t *testing.T) {
	cell.Need(t)
	for name, text := range map[string]string{
		"unknown key": "nmae: host1\n",
		"twice":       "name: a\nname: b\n",
		"not YAML":    "name: [\n",
		"wrong type":  "metrics: {port: 1}\n",
		"log level":   "logLevel: loud\n",
		"log format":  "logFormat: xml\n",
		"metrics":     "metrics: nowhere\n",
		"group":       "socketGroup: no-such-group\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			file := filepath.Join(dir, "heddled.yaml")
			cell.Must(t, os.WriteFile(file, []byte(text), 0o600))
			code, words := newDaemon(t, dir, "--config", file).exit(t)
			if code != 2 || strings.Contains(words, "goroutine") {
				t.Errorf("exit code %d: %s", code, words)
			}
			if strings.Contains(name, "key") && (!strings.Contains(words, file) || !strings.Contains(words, "nmae")) {
				t.Errorf("neither the file nor the key is named: %s", words)
			}
		})
	}
	t.Run("missing file", func(t *testing.T) {
		code, words := newDaemon(t, folder(t), "--config", "/nonexistent/heddled.yaml").exit(t)
		if code != 2 || !strings.Contains(words, "/nonexistent/heddled.yaml") {
			t.Errorf("exit code %d: %s", code, words)
		}
	})
}

// TestFlagsWin: a flag says more than the file, the file more than a default.
func TestFlagsWin(t *testing.T) {
	cell.Need(t)
	dir := folder(t)
	file := filepath.Join(dir, "heddled.yaml")
	cell.Must(t, os.WriteFile(file, []byte("name: fromfile\nstateDir: /nonexistent/x\nlogFormat: json\n"), 0o600))
	for _, c := range []struct {
		flags []string
		want  string
	}{{nil, "fromfile"}, {[]string{"--name", "fromflag"}, "fromflag"}} {
		d := newDaemon(t, dir, append(c.flags, "--config", file)...).ready(t)
		s, err := d.Status(ctx)
		cell.Must(t, err)
		if s.Host != c.want {
			t.Errorf("host is %s, want %s", s.Host, c.want)
		}
		d.stop()
		if !strings.Contains(d.output.String(), `"msg":"ready"`) {
			t.Errorf("the file's log format does not count: %s", d.output.String())
		}
	}
}
