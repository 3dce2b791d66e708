package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test binary be the plugin: there is nothing to build.
func TestMain(m *testing.M) {
	if os.Getenv("HEDDLE_CNI_TEST_PLUGIN") == "1" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// plugin runs the plugin with a folder of its own, changed by as if that is not nil.
type plugin struct {
	dir string
	as  func(*exec.Cmd)
}

func (p plugin) socket() string { return filepath.Join(p.dir, "heddle.sock") }
func (p plugin) queue() string  { return filepath.Join(p.dir, "queue") }

func (p plugin) run(t *testing.T, conf string, env ...string) (exit int, stdout, stderr string) {
	t.Helper()
	return p.call(t, nil, conf, env...)
}

// call runs the plugin with arguments.
func (p plugin) call(t *testing.T, args []string, conf string, env ...string) (exit int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append([]string{"HEDDLE_CNI_TEST_PLUGIN=1", "HEDDLE_SOCKET=" + p.socket(), "HEDDLE_CNI_QUEUE=" + p.queue(),
		"CNI_CONTAINERID=c1", "CNI_NETNS=/run/netns/c1", "CNI_IFNAME=eth0", "CNI_PATH=/opt/cni/bin"}, env...)
	cmd.Stdin = strings.NewReader(conf)
	if p.as != nil {
		p.as(cmd)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if _, exited := err.(*exec.ExitError); !exited {
			t.Fatal(err)
		}
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

type cniError struct {
	CNIVersion, Msg, Details string
	Code                     int
}

func (p plugin) fails(t *testing.T, code int, words, conf string, env ...string) {
	t.Helper()
	exit, out, _ := p.run(t, conf, env...)
	var e cniError
	if err := json.Unmarshal([]byte(out), &e); err != nil {
		t.Fatalf("%v: no error on stdout: %q", env, out)
	}
	if exit != 1 || e.Code != code || e.CNIVersion == "" || !strings.Contains(e.Msg+e.Details, words) {
		t.Errorf("%v: exit %d, %+v, want code %d with %q", env, exit, e, code, words)
	}
}

func TestWithoutAgent(t *testing.T) {
	p := plugin{dir: t.TempDir()}
	conf := `{"cniVersion":"1.0.0","name":"blue"}`
	for command, code := range map[string]int{"ADD": 11, "CHECK": 11, "GC": 11, "STATUS": 50} {
		p.fails(t, code, "HDL-4001", conf, "CNI_COMMAND="+command)
	}
	for range 2 {
		if exit, out, errs := p.run(t, conf, "CNI_COMMAND=DEL", "CNI_NETNS="); exit != 0 || out != "" || !strings.Contains(errs, "queued") {
			t.Errorf("DEL: exit %d %q %q", exit, out, errs)
		}
	}
	entries, _ := os.ReadDir(p.queue())
	if len(entries) != 1 || entries[0].Name() != "c1@eth0" {
		t.Errorf("queue %v", entries)
	}
}

func TestBadEnvironment(t *testing.T) {
	p := plugin{dir: t.TempDir()}
	for _, c := range [][3]string{
		{"ADD", "CNI_CONTAINERID=a/b", "CNI_CONTAINERID"}, {"DEL", "CNI_CONTAINERID=../../etc/x", "CNI_CONTAINERID"},
		{"DEL", "CNI_CONTAINERID=..", "CNI_CONTAINERID"}, {"DEL", "CNI_CONTAINERID=" + strings.Repeat("a", 300), "CNI_CONTAINERID"},
		{"DEL", "CNI_CONTAINERID=", "CNI_CONTAINERID"}, {"DEL", "CNI_IFNAME=a/b", "CNI_IFNAME"}, {"CHECK", "CNI_IFNAME=", "CNI_IFNAME"},
		{"ADD", "CNI_NETNS=", "CNI_NETNS"}, {"ADD", "CNI_ARGS=a\r\nCni-Command: DEL", "CNI_ARGS"}, {"ADD", "CNI_NETNS=/x ", "CNI_NETNS"},
		{"ADD", "CNI_ARGS=" + strings.Repeat("a", 1<<16+1), "CNI_ARGS"}, {"add", "X=", "unknown CNI_COMMAND"},
	} {
		p.fails(t, 4, c[2], "{}", "CNI_COMMAND="+c[0], c[1])
	}
	if _, err := os.Stat(p.queue()); err == nil {
		t.Error("a bad DEL was queued")
	}
	p.fails(t, 5, "1 MiB", strings.Repeat(" ", maxConf+1), "CNI_COMMAND=ADD")
}

func TestVersionAndAbout(t *testing.T) {
	p := plugin{dir: t.TempDir()}
	for conf, version := range map[string]string{`{"cniVersion":"0.4.0"}`: "0.4.0", "": "1.1.0"} {
		_, out, _ := p.run(t, conf, "CNI_COMMAND=VERSION")
		if want := `{"cniVersion":"` + version + `","supportedVersions":["0.3.1","0.4.0","1.0.0","1.1.0"]}` + "\n"; out != want {
			t.Errorf("VERSION %q, want %q", out, want)
		}
	}
	exit, out, errs := p.run(t, "", "CNI_COMMAND=")
	if exit != 0 || out != "" || !strings.Contains(errs, "CNI plugin heddle-cni") || !strings.Contains(errs, "0.3.1, 0.4.0, 1.0.0, 1.1.0") {
		t.Errorf("about: exit %d %q %q", exit, out, errs)
	}
}

// serve answers on the plugin's socket.
func (p plugin) serve(t *testing.T, answer http.HandlerFunc) {
	t.Helper()
	l, err := net.Listen("unix", p.socket())
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: answer}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
}

func TestRequestAndReply(t *testing.T) {
	p := plugin{dir: t.TempDir()}
	conf := `{"cniVersion":"1.1.0","name":"blue","x":"` + strings.Repeat("y", 100_000) + `"}`
	long := strings.Repeat("z", 300_000)
	p.serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for name, want := range map[string]string{"Cni-Command": "ADD", "Cni-Containerid": "c1", "Cni-Netns": "/run/netns/c1", "Cni-Ifname": "eth0", "Cni-Args": "IP=10.0.0.1;A=ü"} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if r.URL.Path != "/v1/cni" || string(body) != conf {
			t.Errorf("%s with %d bytes", r.URL.Path, len(body))
		}
		w.Header().Set("Cni-Exit", "3")
		io.WriteString(w, long)
	})
	exit, out, errs := p.run(t, conf, "CNI_COMMAND=ADD", "CNI_ARGS=IP=10.0.0.1;A=ü")
	if exit != 3 || out != long || errs != "" {
		t.Errorf("exit %d, %d bytes, %q", exit, len(out), errs)
	}
}

func TestSocketInConfiguration(t *testing.T) {
	p := plugin{dir: t.TempDir()}
	p.serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cni-Exit", "0")
		io.WriteString(w, "found")
	})
	conf := `{"cniVersion":"1.1.0","name":"blue","socket":"` + p.socket() + `"}`
	if _, out, _ := p.run(t, conf, "CNI_COMMAND=ADD", "HEDDLE_SOCKET=/nowhere"); out != "found" {
		t.Error(out)
	}
}

func TestAgentRefusesOrStops(t *testing.T) {
	p := plugin{dir: t.TempDir()}
	status := http.StatusUnprocessableEntity
	p.serve(t, func(w http.ResponseWriter, r *http.Request) {
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		io.WriteString(w, `{"id":"HDL-3006"}`)
	})
	for _, command := range []string{"ADD", "DEL"} {
		p.fails(t, 101, "HDL-3006", "{}", "CNI_COMMAND="+command)
	}
	for _, status = range []int{http.StatusServiceUnavailable, 0} {
		if exit, out, _ := p.run(t, "{}", "CNI_COMMAND=DEL"); exit != 0 || out != "" {
			t.Errorf("DEL at status %d: exit %d %s", status, exit, out)
		}
	}
	p.fails(t, 11, "cut off", "{}", "CNI_COMMAND=ADD")
}

func TestQueueIsBounded(t *testing.T) {
	p := plugin{dir: t.TempDir()}
	os.Mkdir(p.queue(), 0o700)
	for i := range maxQueue {
		os.WriteFile(filepath.Join(p.queue(), "x"+itoa(i)+"@eth0"), nil, 0o600)
	}
	p.fails(t, 5, "queue is full", "{}", "CNI_COMMAND=DEL")
	if exit, _, errs := p.run(t, "{}", "CNI_COMMAND=DEL", "CNI_CONTAINERID=x7"); exit != 0 {
		t.Error("a DEL that is queued already failed:", errs)
	}
	os.RemoveAll(p.queue())
	os.Mkdir(p.queue(), 0o700)
	os.Symlink("/nowhere/x", filepath.Join(p.queue(), "c1@eth0"))
	p.fails(t, 5, "not queued", "{}", "CNI_COMMAND=DEL")
}

func TestParseAnswers(t *testing.T) {
	for answer, ok := range map[string]bool{
		"HTTP/1.0 200 OK\r\nContent-Length: 2\r\ncni-exit: 0\r\n\r\nab": true, "HTTP/1.1 200\r\nCni-Exit: 0\r\n\r\n": true,
		"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nab": false, "HTTP/1.0 200 OK\r\nCni-Exit: 0\r\n": false, "": false, "\r\n\r\n": false, "HTTP/1.0 x\r\n\r\n": false,
	} {
		if r, err := parse([]byte(answer)); (err == nil) != ok || ok && (!r.ours || r.exit != 0) {
			t.Errorf("%q: %+v %v", answer, r, err)
		}
	}
}
