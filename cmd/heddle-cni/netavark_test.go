package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// execution is the document of setup and teardown, as netavark 1.14 writes it.
const execution = `{"container_id":"c1","container_name":"web","port_mappings":null,"network":{"name":"front","interface_name":"eth9","subnets":[{"subnet":"10.20.0.0/24"}]},` +
	`"network_options":{"aliases":["c1"],"interface_name":"eth3","static_ips":null},"container_id_of":{"interface_name":"eth8"}}`

// netavark runs the netavark plugin, which prints an error with the words; without words it succeeds.
func (p plugin) netavark(t *testing.T, words, document string, args ...string) (stdout, stderr string) {
	t.Helper()
	exit, stdout, stderr := p.call(t, args, document)
	var e struct{ Error string }
	if words == "" && exit == 0 {
		return stdout, stderr
	}
	if err := json.Unmarshal([]byte(stdout), &e); err != nil || exit != 1 || words == "" || !strings.Contains(e.Error, words) {
		t.Errorf("%v: exit %d %s, want %q", args, exit, stdout, words)
	}
	return stdout, stderr
}

func TestNetavarkWithoutAgent(t *testing.T) {
	p := plugin{dir: t.TempDir()}
	p.netavark(t, "HDL-4001", `{"name":"front"}`, "create")
	p.netavark(t, "HDL-4001", execution, "setup", "/run/netns/c1")
	for range 2 {
		if out, errs := p.netavark(t, "", execution, "teardown", "/run/netns/c1"); out != "" || !strings.Contains(errs, "teardown queued") {
			t.Errorf("%q %q", out, errs)
		}
	}
	entries, _ := os.ReadDir(p.queue())
	if len(entries) != 1 || entries[0].Name() != "c1@eth3" {
		t.Errorf("queue %v", entries)
	}
	if out, _ := p.netavark(t, "", "", "info"); !json.Valid([]byte(out)) || !strings.Contains(out, `"api_version":"1.0.0"`) || !strings.Contains(out, `"version":"`+Version) {
		t.Error(out)
	}
}

// TestNetavarkArguments: a teardown that the agent would refuse is not queued.
func TestNetavarkArguments(t *testing.T) {
	p := plugin{dir: t.TempDir()}
	for _, args := range [][]string{{"delete"}, {"setup"}, {"create", "x"}, {"teardown", "/x", "y"}, {"info", "x"}, {"--version"}} {
		if _, errs := p.netavark(t, "unknown arguments", execution, args...); !strings.Contains(errs, "setup NETNS") {
			t.Error(errs)
		}
	}
	for _, bad := range []string{"", "{}", `[]`, strings.Replace(execution, `"c1"`, `"../c1"`, 1), strings.Replace(execution, `"c1"`, `"c1@eth0"`, 1),
		strings.Replace(execution, `"eth3"`, `"a/b"`, 1), strings.Replace(execution, `"network_options"`, `"options"`, 1)} {
		p.netavark(t, "no valid container_id, or no valid interface_name", bad, "teardown", "/x")
	}
	p.netavark(t, "control characters", execution, "setup", "/x\r\nNetavark-Command: teardown")
	p.netavark(t, "1 MiB", strings.Repeat(" ", maxConf+1), "create")
	if _, err := os.Stat(p.queue()); err == nil {
		t.Error("a bad teardown was queued")
	}
}

func TestNetavarkRequest(t *testing.T) {
	p := plugin{dir: t.TempDir()}
	status := http.StatusOK
	p.serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/netavark" || r.Header.Get("Netavark-Netns") != "/run/netns/c1" || r.Header.Get("Cni-Command") != "" || string(body) != execution {
			t.Errorf("%s %v %s", r.URL.Path, r.Header, body)
		}
		w.Header().Set("Cni-Exit", "0")
		w.WriteHeader(status)
		io.WriteString(w, r.Header.Get("Netavark-Command"))
	})
	if out, _ := p.netavark(t, "", execution, "setup", "/run/netns/c1"); out != "setup" {
		t.Error(out)
	}
	status = http.StatusServiceUnavailable
	if out, errs := p.netavark(t, "", execution, "teardown", "/run/netns/c1"); out != "" || !strings.Contains(errs, "queued") {
		t.Error(out, errs)
	}
}

// TestNetavarkRootless: in a user namespace, create and setup say what to do, and a teardown finds
// nothing to do.
func TestNetavarkRootless(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	p := plugin{dir: "/proc/none", as: func(cmd *exec.Cmd) {
		own := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 65534, Size: 1}}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: own, GidMappings: own}
	}}
	p.netavark(t, "heddle attach NETWORK --pid PID", "{}", "create")
	p.netavark(t, "heddle attach NETWORK --pid PID", execution, "setup", "/x")
	p.netavark(t, "", execution, "teardown", "/x")
}
