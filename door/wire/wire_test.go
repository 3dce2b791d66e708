package wire_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/door/wire"
)

// TestRead: one document of known fields is read, and nothing else.
func TestRead(t *testing.T) {
	for body, code := range map[string]heddle.Code{
		`{"a":1}`:  "",
		`{"a":1} `: "",
		``:         heddle.BadJSON,
		`{`:        heddle.BadJSON,
		`{"b":1}`:  heddle.BadJSON,
		`{"a":1}{`: heddle.BadJSON,
		`{"a":"` + strings.Repeat("x", 100) + `"}`: heddle.TooMuch,
	} {
		var q struct{ A int }
		err := wire.Read(httptest.NewRequest("PUT", "/x", strings.NewReader(body)), 20, &q)
		if code == "" && (err != nil || q.A != 1) || code != "" && !errors.Is(err, code.Sentinel()) {
			t.Errorf("%.20q: %v, %v", body, q, err)
		}
	}
}

// TestWrite: an error is one of ours with the status of its kind, unless one is given.
func TestWrite(t *testing.T) {
	for _, c := range []struct {
		err    error
		given  []int
		status int
		code   heddle.Code
	}{
		{nil, nil, 200, ""},
		{heddle.Errorf(heddle.BadID, "check", "x", "", ""), nil, 400, heddle.BadID},
		{heddle.Errorf(heddle.NotPlugged, "plug", "x", "", ""), nil, 422, heddle.NotPlugged},
		{heddle.Errorf(heddle.BadID, "check", "x", "", ""), []int{401}, 401, heddle.BadID},
		{errors.New("foreign"), nil, 422, ""},
	} {
		w := httptest.NewRecorder()
		wire.Write(w, map[string]string{"a": "b"}, c.err, c.given...)
		var e heddle.Error
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != c.status || e.Code != c.code || (c.err != nil) != (e.Op != "") {
			t.Errorf("%v: %d %s", c.err, w.Code, w.Body)
		}
	}
}

// TestRoute: what a server does not know is answered in JSON, with the status that says which it is.
func TestRoute(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /known", func(w http.ResponseWriter, _ *http.Request) { wire.Write(w, 1, nil) })
	h := wire.Route(mux, func(r *http.Request) error { return heddle.Errorf(heddle.BadArgument, "call", r.URL.Path, "", "") })
	for call, status := range map[string]int{"GET /known": 200, "GET /unknown": 404, "PUT /known": 405} {
		method, path, _ := strings.Cut(call, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != status || status != 200 && !strings.Contains(w.Body.String(), `"HDL-1012"`) {
			t.Errorf("%s: %d %s", call, w.Code, w.Body)
		}
		if status == 405 && w.Header().Get("Allow") == "" {
			t.Error("no header says which methods there are")
		}
	}
}
