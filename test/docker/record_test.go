package docker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/test/docker"
	"github.com/heddle-network/heddle/test/soak"
)

var record = flag.String("record", "", "write down what dockerd asks the plugin, for package test/replay")

// TestRecord writes down what a real dockerd says to the agent, and what it is
// answered, in a user's day with all that these calls may hold: options, both
// families, chosen addresses, published ports, several networks, Docker's own
// address management, an option that is refused.
//
//	engine=$(test/docker/fetch-engine.sh) && HEDDLE_DOCKER=$engine go test ./test/docker \
//		-run TestRecord -record ../../door/docker/testdata/engine-29.8.jsonl
//
// Without HEDDLE_DOCKER it is Debian's engine.
func TestRecord(t *testing.T) {
	soak.Turn(t, 2)
	if *record == "" {
		t.Skip("makes a recording: -record FILE")
	}
	l := docker.New(t, 1)
	h := l.Hosts[0]
	tape := listen(t, h)
	create := func(name string, options ...string) {
		h.Docker(t, append(append([]string{"network", "create", "-d", "heddle"}, options...), name)...)
	}
	ours := []string{"--ipam-driver", "heddle"}
	create("full", append(ours, "-o", "mode=bridge", "-o", "com.docker.network.driver.mtu=1400", "--ipv6", "--subnet", "fd80::/64",
		"--subnet", "10.80.0.0/24", "--ip-range", "10.80.0.128/26", "--gateway", "10.80.0.254", "--aux-address", "dns=10.80.0.130")...)
	create("other", append(ours, "-o", "mode=routed", "--subnet", "10.81.0.0/24")...)
	create("auto", append(ours, "--internal")...)
	create("dipam", "-o", "mode=bridge", "--subnet", "10.82.0.0/24", "--aux-address", "x=10.82.0.9")
	if out, err := h.TryDocker("network", "create", "-d", "heddle", "--ipam-driver", "heddle", "-o", "foo=bar", "--subnet", "10.83.0.0/24", "wrong"); err == nil {
		t.Errorf("an unknown option was taken: %s", out)
	}
	h.Docker(t, "run", "-d", "--name", "web", "--net", "full", "--ip", "10.80.0.9", "--ip6", "fd80::99", "--mac-address", "02:00:00:00:00:77",
		"--expose", "81", "-p", "8080:80", "-p", "127.0.0.1:9000-9002:82/udp", "--network-alias", "www", "box", "sleep", "3600")
	h.Docker(t, "network", "connect", "--ip", "10.81.0.7", "other", "web")
	h.Docker(t, "network", "connect", "dipam", "web")
	h.Docker(t, "network", "inspect", "full", "other")
	h.Docker(t, "restart", "-t", "0", "web")
	h.Docker(t, "network", "disconnect", "dipam", "web")
	h.Docker(t, "rm", "-f", "web")
	for _, n := range []string{"full", "other", "auto", "dipam"} {
		h.Docker(t, "network", "rm", n)
	}
	nothingLeft(t, l)
	tape.write(t, *record)
}

// call is one of dockerd's, as package replay reads it.
type call struct {
	Path   string `json:"path"`
	Body   string `json:"body"`
	Answer string `json:"answer"`
}

// recorder stands between a host's dockerd and its agent.
type recorder struct {
	mu    sync.Mutex
	calls []call
	agent http.Client
}

// listen takes the place of the agent's socket, before dockerd has called it.
func listen(t *testing.T, h *docker.Host) *recorder {
	t.Helper()
	socket := filepath.Join("/proc", fmt.Sprint(h.Pid), "root/run/docker/plugins/heddle.sock")
	away := socket + ".agent"
	if err := os.Rename(socket, away); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", away)
	}
	r := &recorder{agent: http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
	s := &http.Server{Handler: r}
	go s.Serve(l)
	t.Cleanup(func() { s.Close(); os.Rename(away, socket) })
	return r
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	reply, err := r.agent.Post("http://plugin"+q.URL.Path, q.Header.Get("Content-Type"), bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer reply.Body.Close()
	answer, _ := io.ReadAll(reply.Body)
	r.mu.Lock()
	r.calls = append(r.calls, call{q.URL.Path, string(bytes.TrimSpace(body)), string(bytes.TrimSpace(answer))})
	r.mu.Unlock()
	w.Header().Set("Content-Type", reply.Header.Get("Content-Type"))
	w.WriteHeader(reply.StatusCode)
	w.Write(answer)
}

// named is a network's name in an answer: the agent has it from dockerd, which is
// not there when the calls are played again.
var named = regexp.MustCompile(`"heddle\.network":"[^"]*"`)

func (c call) nameless() call {
	var body struct{ NetworkID string }
	if json.Unmarshal([]byte(c.Body), &body) == nil && len(body.NetworkID) >= 12 {
		c.Answer = named.ReplaceAllString(c.Answer, `"heddle.network":"docker-`+body.NetworkID[:12]+`"`)
	}
	return c
}

func (r *recorder) write(t *testing.T, file string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, c := range r.calls {
		if strings.Contains(c.Answer, string(heddle.Waited)) {
			t.Fatalf("%s was answered too late: record on a machine with less to do", c.Path)
		}
		if err := e.Encode(c.nameless()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
