package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// TestCloudOf: the file of --nic-cloud says by its key which cloud it is, and is read by that cloud's rules.
func TestCloudOf(t *testing.T) {
	const networks = "networks: {lan: {securityGroups: [sg-1], "
	for text, want := range map[string]string{
		"aliyun: {" + networks + "vswitch: vsw-1}}}":   "",
		"aws: {" + networks + "subnet: subnet-1}}}":    "",
		"aws: {" + networks + "vswitch: vsw-1}}}":      "vswitch",
		"aliyun: {" + networks + "subnet: subnet-1}}}": "subnet",
		"aws: {}\naliyun: {}":                          "two clouds",
		"openstack: {}":                                "aliyun, aws",
		"aws: {}\nopenstack: {}":                       "openstack",
	} {
		file := filepath.Join(t.TempDir(), "cloud.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := cloudOf(file)
		if want == "" && (err != nil || p == nil) || want != "" && (p != nil || heddle.BadArgument.In(err) == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
}
