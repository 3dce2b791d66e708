package hardship_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/cell"
)

// TestGarbage: whatever comes in at the socket, a clear error goes out, and the
// agent lives.
func TestGarbage(t *testing.T) {
	cell.Need(t)
	d := newDaemon(t, folder(t)).ready(t)
	huge := `{"network":{"name":"` + strings.Repeat("x", 2<<20) + `"}}`
	for _, c := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"empty body", "POST", "/v1/attach", "", 400},
		{"broken JSON", "POST", "/v1/attach", `{"network":`, 400},
		{"not an object", "POST", "/v1/attach", `[1,2]`, 400},
		{"null", "POST", "/v1/attach", `null`, 400},
		{"unknown field", "POST", "/v1/attach", `{"netwrok":"net0"}`, 400},
		{"two documents", "POST", "/v1/detach", `{"container":"c","ifname":"eth0"}{"container":"d","ifname":"eth0"}`, 400},
		{"wrong type", "POST", "/v1/attach", `{"network":7}`, 400},
		{"bad address", "POST", "/v1/attach", `{"network":"n","ips":["10.0.0.256"]}`, 400},
		{"bad MAC", "POST", "/v1/attach", `{"network":"n","id":{"container":"c","ifname":"eth0"},"mac":"zz"}`, 400},
		{"bad port", "POST", "/v1/attach", `{"network":"n","id":{"container":"c","ifname":"eth0"},"ports":[{"hostPort":70000}]}`, 400},
		{"bad id", "POST", "/v1/detach", `{"container":"../../etc","ifname":"eth0"}`, 400},
		{"bad interface", "POST", "/v1/detach", `{"container":"c","ifname":"a/b"}`, 400},
		{"bad id in a path", "GET", "/v1/endpoints/..%2F..%2Fetc/eth0", "", 400},
		{"no such network", "POST", "/v1/attach", `{"network":"none","id":{"container":"c","ifname":"eth0"},"netns":"/x"}`, 422},
		{"no such endpoint", "GET", "/v1/endpoints/c/eth0", "", 422},
		{"unknown mode", "POST", "/v1/networks", `{"network":{"name":"n","mode":"magic"}}`, 400},
		{"bad name", "POST", "/v1/networks", `{"network":{"name":"a b","mode":"bridge"}}`, 400},
		{"huge body", "POST", "/v1/networks", huge, 400},
		{"deep nesting", "POST", "/v1/networks", strings.Repeat("[", 100000), 400},
		{"batch with an unknown field", "POST", "/v1/attach/batch", `{"endpoint":[]}`, 400},
		{"batch of no endpoint", "POST", "/v1/attach/batch", `{"endpoints":[{}]}`, 400},
		{"batch longer than a request", "POST", "/v1/attach/batch", `{"endpoints":["` + strings.Repeat("x", 1<<20) + `"]}`, 400},
		{"wrong method", "PUT", "/v1/attach", "{}", 405},
		{"method without body", "GET", "/v1/attach", "", 405},
		{"unknown path", "GET", "/v2/networks", "", 404},
	} {
		t.Run(c.name, func(t *testing.T) { answers(t, d, c.method, c.path, c.body, c.status) })
	}
	rawBytes(t, d)
	if s, err := d.Status(ctx); err != nil || !s.Ready {
		t.Errorf("the agent does not answer any more: %v", err)
	}
}

// answers sends a request and wants an error document with the status.
func answers(t *testing.T, d *daemon, method, path, body string, status int) {
	t.Helper()
	req, err := http.NewRequest(method, "http://heddle/", strings.NewReader(body))
	cell.Must(t, err)
	req.URL.Opaque = "//heddle" + path
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", d.socket())
	}}
	resp, err := transport.RoundTrip(req)
	cell.Must(t, err)
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != status {
		t.Errorf("status %d, want %d: %s", resp.StatusCode, status, clip(string(text)))
	}
	var e heddle.Error
	if err := json.Unmarshal(text, &e); err != nil || e.Op == "" || e.Code == "" {
		t.Errorf("no error document: %q", clip(string(text)))
	}
	if kind := resp.Header.Get("Content-Type"); kind != "application/json" {
		t.Errorf("content type %q", kind)
	}
}

// rawBytes sends what is not HTTP at all, and half a request.
func rawBytes(t *testing.T, d *daemon) {
	t.Helper()
	for _, text := range []string{"\x00\xff\x00\xff\r\n\r\n", "GET", "POST /v1/attach HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", strings.Repeat("A", 1<<17)} {
		c, err := net.Dial("unix", d.socket())
		cell.Must(t, err)
		io.WriteString(c, text)
		cell.Must(t, c.Close())
	}
}
