package cni

import (
	"encoding/json"
	"strings"
	"testing"

	current "github.com/containernetworking/cni/pkg/types/100"

	"github.com/heddle-network/heddle"
)

// TestDeviceInResult: a runtime of CNI 1.1 is told which device a program of the container drives, and an earlier one is not.
func TestDeviceInResult(t *testing.T) {
	e := heddle.Endpoint{ID: heddle.EndpointID{Container: "c", IfName: "eth0"}, MAC: "0a:00:00:00:00:01", NIC: &heddle.NIC{Device: &heddle.NICDevice{Address: "0000:05:00.0"}}}
	for version, told := range map[string]bool{"1.0.0": false, "1.1.0": true} {
		conf := Conf{}
		conf.CNIVersion = version
		r, err := buildResult(conf, heddle.Network{}, "/run/netns/c", heddle.AttachReply{Endpoint: e}, &current.Result{CNIVersion: newestVersion})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil || strings.Contains(string(text), `"pciID":"0000:05:00.0"`) != told {
			t.Errorf("CNI %s: %s, %v", version, text, err)
		}
	}
}
