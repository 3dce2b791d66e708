package cni

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

// FuzzConf feeds the parser: whatever it accepts names a network that the agent
// would accept, and whatever it refuses becomes a CNI error.
func FuzzConf(f *testing.F) {
	for _, s := range []string{
		plain + "}", plain + `,"mode":"bridge","subnets":["10.0.0.0/24","fd00::/64"],"gateways":["10.0.0.1"],"mtu":1400,"internal":true}`,
		plain + `,"runtimeConfig":{"portMappings":[{"hostPort":1,"containerPort":2,"protocol":"tcp","hostIP":"::1"}],"mac":"0a:00:00:00:00:01","ips":["10.0.0.7/24"]}}`,
		plain + `,"prevResult":{"cniVersion":"0.4.0","ips":[{"version":"4","address":"10.0.0.1/8"}]}}`,
		plain + `,"cni.dev/valid-attachments":[{"containerID":"a","ifname":"b"}],"args":{"cni":{"ips":["x"]}}}`,
		`{"name":"\u0000"}`, `{"name":{"name":"x"}}`, `null`, `[]`, `{"options":{"a":1}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := ParseConf(body)
		if err == nil {
			var q heddle.AttachRequest
			err = c.Options.apply(Args{}, &q)
		}
		if err == nil {
			_, err = previousResult(c)
		}
		if err == nil {
			if heddle.CheckNetworkName(c.Network) != nil || !validName(c.Name) {
				t.Errorf("accepted network %q of %q", c.Network, c.Name)
			}
			return
		}
		reply := errorReply(newestVersion, err)
		if reply.Code == 0 || reply.Msg == "" || !strings.Contains(reply.Details, "[HDL-") {
			t.Errorf("error %+v", reply)
		}
		if _, err := json.Marshal(reply); err != nil {
			t.Error(err)
		}
	})
}

// FuzzArgs feeds the parser of CNI_ARGS.
func FuzzArgs(f *testing.F) {
	for _, s := range []string{"", "IP=10.0.0.1", "IP=10.0.0.1,fd00::1;MAC=0a:00:00:00:00:01", "IgnoreUnknown=1;K8S_POD_NAME=x;A=b", "=;=", ";;", "IP", "IgnoreUnknown=maybe"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseArgs(s)
		if err != nil {
			if codeOf(err) != badEnvironment || a.IPs != nil || a.MAC != "" {
				t.Errorf("%q: %v %+v", s, err, a)
			}
			return
		}
		for _, ip := range a.IPs {
			if !strings.Contains(s, ip) {
				t.Errorf("%q: invented %q", s, ip)
			}
		}
	})
}
