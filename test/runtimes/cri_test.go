package runtimes_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// criClient is the path of the client in folder cri.
type criClient string

// fields are a CRI request, by the names of its protocol buffers.
type fields map[string]any

// criReply is what the tests read of all replies.
type criReply struct {
	Sandbox   string `json:"pod_sandbox_id"`
	Container string `json:"container_id"`
	Items     []struct {
		ID string `json:"id"`
	} `json:"items"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status bool   `json:"status"`
		} `json:"conditions"`
		Network struct {
			IP   netip.Addr `json:"ip"`
			More []struct {
				IP netip.Addr `json:"ip"`
			} `json:"additional_ips"`
		} `json:"network"`
	} `json:"status"`
	Info   map[string]string `json:"info"`
	Stdout []byte            `json:"stdout"`
}

// newCRI builds the client: a module of its own, whose modules make test has fetched. From
// a cell no network is in reach.
func newCRI(t *testing.T) criClient {
	t.Helper()
	folder := filepath.Join(here(t), "cri")
	path := filepath.Join(t.TempDir(), "cri")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the CRI client (make cri-modules fetches its modules): %v\n%s", err, out)
	}
	return criClient(path)
}

func (c criClient) call(method string, request fields) (reply criReply, err error) {
	args := []string{criSocket, method}
	if request != nil {
		text, err := json.Marshal(request)
		if err != nil {
			return reply, err
		}
		args = append(args, string(text))
	}
	var stderr strings.Builder
	cmd := exec.Command(string(c), args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return reply, fmt.Errorf("%s: %w: %s", method, err, stderr.String())
	}
	if err := json.Unmarshal(out, &reply); err != nil {
		return reply, fmt.Errorf("%s: %w in %s", method, err, out)
	}
	return reply, nil
}

// must is call for what has to succeed.
func (c criClient) must(t *testing.T, method string, request fields) criReply {
	t.Helper()
	reply, err := c.call(method, request)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}
