package main

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/cluster"
	"github.com/heddle-network/heddle/door/docker"
	"github.com/heddle-network/heddle/door/docker/reconcile"
)

// TestConfigurationTold: the configuration that is installed has every key as a
// comment, with the default that holds.
func TestConfigurationTold(t *testing.T) {
	text := read(t, "../../packaging/heddled.yaml")
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			t.Errorf("%q is not a comment", line)
		}
	}
	with, without, found := strings.Cut(text, "\n# Keys without one")
	if !found {
		t.Fatal("the configuration does not say which keys have no default")
	}
	have := commented(t, with)
	told := slices.Sorted(maps.Keys(have))
	told = append(told, slices.Collect(maps.Keys(commented(t, without)))...)
	if slices.Sort(told); !slices.Equal(told, keys()) {
		t.Errorf("told are %v, want %v", told, keys())
	}
	d := defaultConfig()
	var ranges []string
	for _, p := range cluster.DefaultRanges {
		ranges = append(ranges, p.String())
	}
	hold := map[string]any{"stateDir": d.StateDir, "runDir": d.RunDir, "logLevel": d.LogLevel, "logFormat": d.LogFormat,
		"fastPath": d.FastPath, "resolver": d.Resolver, "tunnelPort": float64(d.TunnelPort), "clusterRanges": strings.Join(ranges, ","),
		"dockerSocket": docker.DefaultSocket, "dockerHost": reconcile.DefaultHost, "dockerDriver": heddle.Mark}
	if !reflect.DeepEqual(have, hold) {
		t.Errorf("the defaults are told as %v, want %v", have, hold)
	}
}

// TestManual: the manual page and --help tell every key, the manual page every flag.
func TestManual(t *testing.T) {
	cmd := newCommand(nil)
	manual := strings.ReplaceAll(read(t, "../../packaging/man/heddled.8"), `\-`, "-")
	_, section, _ := strings.Cut(manual, ".SH CONFIGURATION\n")
	section, _, _ = strings.Cut(section, ".SH ")
	_, help, _ := strings.Cut(cmd.Long, "with the keys ")
	for _, key := range keys() {
		word := regexp.MustCompile(`\b` + key + `\b`)
		if !word.MatchString(section) {
			t.Errorf("the manual page does not tell the key %s", key)
		}
		if !word.MatchString(help) {
			t.Errorf("--help does not tell the key %s", key)
		}
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && !regexp.MustCompile(`--`+f.Name+`[", \n]`).MatchString(manual) {
			t.Errorf("the manual page does not tell --%s", f.Name)
		}
	})
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// keys are those that the configuration knows.
func keys() (all []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && name != "-" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// commented are the keys in the comments of a configuration.
func commented(t *testing.T, text string) map[string]any {
	t.Helper()
	all := map[string]any{}
	lines := regexp.MustCompile(`(?m)^#([a-zA-Z]+: .*)$`).FindAllStringSubmatch(text, -1)
	for _, line := range lines {
		if err := yaml.Unmarshal([]byte(line[1]), &all); err != nil {
			t.Errorf("%s: %v", line[1], err)
		}
	}
	return all
}
