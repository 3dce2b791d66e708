package join_test

import (
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiagnostics: no token and no key is in what is said to those who look: in logs of
// level debug, reports, metrics and refusals.
func TestDiagnostics(t *testing.T) {
	h := newHosts(t, 2)
	address := h.host(1).Addr4.String()
	loud := []string{"--log-level", "debug", "--metrics", "127.0.0.1:9468", "--underlay", "eth0"}
	h.start(1, append(loud, "--store", "embedded")...)
	used, left := strings.TrimSpace(h.must(1, "host", "token")), strings.TrimSpace(h.must(1, "host", "token"))
	wrong := left[:len(left)-26] + strings.Repeat("a", 26)

	said := map[string]string{}
	says := func(i int, argv ...string) {
		said[h.host(i).Name+": "+filepath.Base(argv[0])+" "+strings.Join(argv[1:], " ")], _ = h.run(i, argv...)
	}
	open := filepath.Join(t.TempDir(), "open.yaml")
	if err := os.WriteFile(open, []byte("token: "+left+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	says(2, h.heddled, "--log-level", "debug", "--config", open, "--join", address)
	says(2, h.heddled, "--log-level", "debug", "--token", left, "--join", address)
	says(2, h.heddled, "--log-level", "debug", "--underlay", "eth0", "--join", address, "--token-file", h.token(2, wrong))
	h.start(2, append(loud, "--join", address, "--token-file", h.token(2, used))...)
	h.await(1, "host1=voter/alive", "host2=client/alive")
	h.must(1, "host", "promote", "host2")
	h.await(1, "host1=voter/alive", "host2=learner/alive")
	for i := 1; i <= 2; i++ {
		for _, report := range []string{"status", "host list", "peer list", "audit"} {
			says(i, append([]string{h.heddle, "-o", "json"}, strings.Fields(report)...)...)
		}
		says(i, "curl", "-s", "http://127.0.0.1:9468/metrics")
	}
	says(1, h.heddle, "-o", "json", "doctor")
	for i := 1; i <= 2; i++ {
		text, err := os.ReadFile(h.host(i).Log)
		if err != nil {
			t.Fatal(err)
		}
		said[h.host(i).Name+": log"] = string(text)
	}

	secrets := []string{"PRIVATE KEY"}
	for _, token := range []string{used, left, wrong} {
		secrets = append(secrets, token[strings.LastIndex(token, ".")+1:])
	}
	secrets = append(secrets, h.keys(1)...)
	secrets = append(secrets, h.keys(2)...)
	for what, text := range said {
		if len(text) < 20 {
			t.Errorf("%s says nothing: %q", what, text)
		}
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s tells %q", what, secret)
			}
		}
	}
	t.Logf("%d texts, %d secrets", len(said), len(secrets))
}

// keys are the lines of the private keys in a host's state folder.
func (h *hosts) keys(i int) (lines []string) {
	h.Helper()
	text, _ := h.run(i, "sh", "-c", "cat /var/lib/heddle/cluster/*.key /var/lib/heddle/cluster/*.pem")
	blocks := 0
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		if !strings.Contains(block.Type, "PRIVATE KEY") {
			continue
		}
		blocks++
		for _, line := range strings.Split(string(pem.EncodeToMemory(block)), "\n") {
			if line != "" && !strings.HasPrefix(line, "-----") {
				lines = append(lines, line)
			}
		}
	}
	if blocks < 3 { // the host's own, the authority's, the operator's
		h.Fatalf("host%d has %d private keys: %s", i, blocks, text)
	}
	return lines
}
