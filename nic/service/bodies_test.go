package service

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/heddle-network/heddle"
)

// raw sends a request of machine a that no client sends.
func (s *serving) raw(t *testing.T, h2 bool, method, path string, body io.Reader, header ...string) (int, heddle.Error) {
	t.Helper()
	req, err := http.NewRequest(method, "https://"+s.addr+path, body)
	must(t, err)
	g := s.grant(t, "a")
	req.Header.Set("Authorization", "Bearer "+g.Machine+"."+g.Secret)
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: h2, DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tr, Timeout: 30 * time.Second}).Do(req)
	must(t, err)
	defer resp.Body.Close()
	if want := 1 + map[bool]int{true: 1}[h2]; resp.ProtoMajor != want {
		t.Errorf("HTTP/%d", resp.ProtoMajor)
	}
	var e heddle.Error
	if err := json.NewDecoder(resp.Body).Decode(&e); err != nil && resp.StatusCode != 431 && method != "HEAD" && resp.StatusCode != 200 {
		t.Error(err)
	}
	return resp.StatusCode, e
}

// TestBodies: what is malformed, unknown or too long is refused, and changes nothing.
func TestBodies(t *testing.T) {
	s := serve(t, newWorld(), "127.0.0.1")
	big := strings.Repeat(" ", maxBody)
	for _, c := range []struct {
		call, body string
		status     int
		code       heddle.Code
	}{
		{"PUT /v1/nics/x", ``, 400, heddle.BadJSON},
		{"PUT /v1/nics/x", `{"network":`, 400, heddle.BadJSON},
		{"PUT /v1/nics/x", `[]`, 400, heddle.BadJSON},
		{"PUT /v1/nics/x", `{"network":"lan"}{}`, 400, heddle.BadJSON},
		{"PUT /v1/nics/x", `{"network":"lan","token":"x"}`, 400, heddle.BadJSON},
		{"PUT /v1/nics/x", `{"network":"lan","ips":["192.0.2"]}`, 400, heddle.BadJSON},
		{"PUT /v1/nics/x", `null`, 400, heddle.BadName},
		{"PUT /v1/nics/x", `{"network":"lan","mac":"x"}`, 400, heddle.BadMAC},
		{"PUT /v1/nics/x", `{"network":"lan","ips":["224.0.0.1"]}`, 400, heddle.BadAddress},
		{"PUT /v1/nics/X", `{"network":"lan"}`, 400, heddle.BadID},
		{"PUT /v1/nics/%2e%2e%2fx", `{"network":"lan"}`, 400, heddle.BadID},
		{"DELETE /v1/nics/a%0ab", ``, 400, heddle.BadID},
		{"PUT /v1/nics/x", big + `{"network":"lan"}`, 400, heddle.TooMuch},
		{"PUT /v1/nics/x", big + big + big, 400, heddle.TooMuch},
		{"PUT /v1/nics/x", `{"network":"lan","from":"../b"}`, 400, heddle.BadArgument},
		{"POST /v1/nics/x/permit", `{"to":"b","as":"X"}`, 400, heddle.BadID},
		{"POST /v1/nics/x/permit", `{"to":"b/c","as":"y"}`, 400, heddle.BadArgument},
		{"POST /v1/nics/x/permit", `{"to":"b","as":"y","for":1}`, 400, heddle.BadJSON},
		{"POST /v1/nics/X/confirm", ``, 400, heddle.BadID},
		{"POST /v1/nics/x/limit", ``, 400, heddle.BadJSON},
		{"POST /v1/nics/x/limit", `{"in":{"rate":-1}}`, 400, heddle.BadJSON},
		{"POST /v1/nics/x/limit", `{"in":{"rate":1e30}}`, 400, heddle.BadJSON},
		{"POST /v1/nics/x/limit", `{"in":{"rate":"10mbit"}}`, 400, heddle.BadJSON},
		{"POST /v1/nics/x/limit", `{"most":{}}`, 400, heddle.BadJSON},
		{"POST /v1/nics/x/limit", big + `{}`, 400, heddle.TooMuch},
		{"POST /v1/nics/X/limit", `{}`, 400, heddle.BadID},
		{"GET /v1/nics/x/limit", ``, 405, heddle.BadArgument},
		{"GET /v1/nics/x", ``, 405, heddle.BadArgument},
		{"POST /v1/offer", ``, 405, heddle.BadArgument},
		{"GET /v1/else", ``, 404, heddle.BadArgument},
	} {
		for _, h2 := range []bool{false, true} {
			method, path, _ := strings.Cut(c.call, " ")
			status, e := s.raw(t, h2, method, path, strings.NewReader(c.body))
			if status != c.status || e.Code != c.code || e.Remedy == "" {
				t.Errorf("%s %.40q: %d %+v", c.call, c.body, status, e)
			}
		}
	}
	if status, _ := s.raw(t, false, "GET", "/v1/offer", nil, "X", strings.Repeat("x", 3*maxHeader)); status != 431 {
		t.Error("a long header: ", status)
	}
	// Far beyond what is read: the connection ends.
	req, err := http.NewRequest("PUT", "https://"+s.addr+"/v1/nics/x", bytes.NewReader(make([]byte, 64<<20)))
	must(t, err)
	g := s.grant(t, "a")
	req.Header.Set("Authorization", "Bearer "+g.Machine+"."+g.Secret)
	tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}
	if resp, err := (&http.Client{Transport: tr, Timeout: 30 * time.Second}).Do(req); err == nil {
		resp.Body.Close()
		if resp.StatusCode != 400 {
			t.Error(resp.Status)
		}
	}
	if got := s.world.state(); got != "" {
		t.Error(got)
	}
	if status, e := s.raw(t, true, "PUT", "/v1/nics/x", strings.NewReader(`{"network":"lan"}`)); status != 200 {
		t.Error(status, fmt.Sprint(e))
	}
}
