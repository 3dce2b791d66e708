package aliyun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/nic/eni"
)

// TestStates: each of the API's words has its meaning, and one that is not known has the cloud be busy. What is being deleted is not found.
func TestStates(t *testing.T) {
	for word, want := range map[string]eni.State{creating: eni.Busy, available: eni.Free, attaching: eni.Attaching, inUse: eni.Attached, detachingNIC: eni.Detaching,
		createFailed: eni.Failed, "Linked": eni.Busy} {
		d := described{Status: word, PrimaryIP: "192.0.2.1", InstanceID: me}
		d.Tags.Tag = []tag{{eni.TagMachine, "first"}, {eni.TagMachine, "second"}}
		d.PrivateIPs.Set = []privateIP{{"192.0.2.1", false}, {"192.0.2.3", true}, {"192.0.2.2", false}, {"nonsense", false}}
		if n := d.nic(); n.State != want || n.Word != word || n.Instance != me || n.Tags[eni.TagMachine] != "first" || len(n.Fours) != 1 || n.Fours[0].String() != "192.0.2.2" {
			t.Errorf("%s: %+v", word, n)
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
	if err := os.WriteFile(file, []byte(good+"  prefixes: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := open(file); err != nil || !c.settings().Prefixes {
		t.Errorf("prefixes: %v", err)
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
