// Package wire is how servers of heddle speak JSON over HTTP: how they read requests, and write answers and
// errors. An error has the body of a heddle.Error, and a status that follows its kind.
package wire

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/heddle-network/heddle"
)

// Read reads the body of a request: one JSON document of at most that many bytes. It refuses unknown fields,
// so that a typing error is not silently ignored. Its errors are of code heddle.TooMuch or heddle.BadJSON.
func Read(r *http.Request, most int64, into any) error {
	body := &io.LimitedReader{R: r.Body, N: most}
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if _, more := d.Token(); err == nil && more != io.EOF {
		err = errors.New("more than one document")
	}
	if err == nil {
		return nil
	}
	// Read on for a while, so that a caller that is still writing gets the answer.
	io.Copy(io.Discard, io.LimitReader(r.Body, 8*most))
	if body.N == 0 {
		return heddle.Errorf(heddle.TooMuch, "read request", r.URL.Path, "it is longer than "+strconv.FormatInt(most, 10)+" bytes", "ask for less in one call")
	}
	return heddle.Wrap(heddle.BadJSON, "read request", r.URL.Path, err, "send one JSON document with known fields only")
}

var httpStatus = map[heddle.Kind]int{
	heddle.Usage: http.StatusBadRequest, heddle.Unavailable: http.StatusNotImplemented, heddle.Conflict: http.StatusConflict,
	heddle.Timeout: http.StatusGatewayTimeout, heddle.Unreachable: http.StatusServiceUnavailable, heddle.Partial: http.StatusInternalServerError,
}

// Write answers with a value, or with an error. A given status takes precedence over the status of the error's kind.
func Write(w http.ResponseWriter, v any, err error, given ...int) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		status, known := httpStatus[heddle.KindOf(err)]
		if !known {
			status = http.StatusUnprocessableEntity
		}
		if len(given) > 0 {
			status = given[0]
		}
		w.WriteHeader(status)
		v = heddle.ErrorOf("answer call", err)
	}
	json.NewEncoder(w).Encode(v)
}

// Route calls the handler of a request. For an unknown path or method it answers with the error of unknown.
func Route(mux *http.ServeMux, unknown func(*http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, pattern := mux.Handler(r); pattern == "" {
			code := &statusRecorder{header: w.Header()}
			h.ServeHTTP(code, r)
			Write(w, nil, unknown(r), code.status)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// statusRecorder keeps only the status and headers (Allow) of an answer.
type statusRecorder struct {
	header http.Header
	status int
}

func (s *statusRecorder) Header() http.Header         { return s.header }
func (s *statusRecorder) WriteHeader(status int)      { s.status = status }
func (s *statusRecorder) Write(p []byte) (int, error) { return len(p), nil }
