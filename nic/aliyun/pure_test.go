package aliyun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNext: each state has its step, for each goal.
func TestNext(t *testing.T) {
	for _, x := range []struct {
		status, instance string
		plugged, gone    step
	}{
		{creating, "", pause, pause},
		{available, "", attach, remove},
		{attaching, me, pause, pause},
		{inUse, me, done, detach},
		{inUse, "i-other", refuse, refuse},
		{detachingNIC, me, pause, pause},
		{createFailed, "", refuse, remove},
		{"Linked", "", pause, pause}, // one that is not known
	} {
		e := eni{Status: x.status, InstanceID: x.instance}
		if next(e, me, gone) != refuse {
			t.Errorf("one without our tag, which is %s, is not left alone", x.status)
		}
		e.Tags.Tag = []tag{{tagMachine, me}}
		if a, b := next(e, me, plugged), next(e, me, gone); a != x.plugged || b != x.gone {
			t.Errorf("%s of %q: %d to plug, %d to unplug", x.status, x.instance, a, b)
		}
	}
}

// TestRoom: NICs that others have attached take room, too.
func TestRoom(t *testing.T) {
	ours, foreign := eni{}, eni{Type: "Primary"}
	ours.Tags.Tag = []tag{{tagMachine, me}}
	for _, x := range []struct {
		limit, most int
		attached    []eni
		slots, free int
	}{
		{4, 0, []eni{foreign}, 3, 3},
		{4, 2, []eni{foreign}, 2, 2},
		{4, 9, []eni{foreign, foreign}, 2, 2},
		{4, 0, []eni{foreign, ours}, 3, 2},
		{1, 0, []eni{foreign, ours}, 0, 0},
	} {
		if slots, free := room(x.limit, x.most, me, x.attached); slots != x.slots || free != x.free {
			t.Errorf("%+v: %d of %d", x, free, slots)
		}
	}
}

// TestConfig: a file that is wrong is refused, with line and key.
func TestConfig(t *testing.T) {
	const good = "aliyun:\n  networks:\n    lan: {vswitch: vsw-1, securityGroups: [sg-1]}\n"
	for text, want := range map[string]string{
		"":                                       "it is empty",
		"other: 1\n":                             "unknown key",
		"aliyun:\n":                              "it names no cloud",
		"aliyun: {networks: {}}\n":               "0 networks",
		strings.Replace(good, "lan", "l n", 1):   "no name of a network",
		strings.Replace(good, "vsw-1", "1", 1):   "line 3, aliyun.networks.lan.vswitch",
		strings.Replace(good, "[sg-1]", "[]", 1): "0 security groups",
		strings.Replace(good, "[sg-1]", "[sg-1, s]", 1):    "securityGroups.2",
		strings.Replace(good, "[sg-1]", "[sg-1, sg-1]", 1): "given twice",
		good + "  nics: -1\n":                              "no number of NICs",
		good + "  ecs: https://example.com/\n":             "no host",
		good + "  ca: /nowhere\n":                          "read certificates",
		good + "  nic: 1\n":                                "unknown key",
	} {
		file := filepath.Join(t.TempDir(), "cloud.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	file := filepath.Join(t.TempDir(), "cloud.yaml")
	if err := os.WriteFile(file, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(file, 0o622); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); err == nil || !strings.Contains(err.Error(), "others than its owner can write it") {
		t.Error(err)
	}
	if _, err := Open("/nowhere"); err == nil {
		t.Error("a file that is not there is read")
	}
}
