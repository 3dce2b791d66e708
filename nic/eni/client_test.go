package eni

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// TestMetadataClient: requests to a metadata service go by no proxy, and to where no answer sends them; what is read of an answer is bounded.
func TestMetadataClient(t *testing.T) {
	c := NewMetadataClient()
	if c.http.Transport.(*http.Transport).Proxy != nil || NewClient(nil).http.Transport.(*http.Transport).Proxy == nil {
		t.Error("the metadata service is asked by a proxy, or the API by none")
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			t.Errorf("%s was asked for", r.URL.Path)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
		io.WriteString(w, strings.Repeat("x", 2*maxMetadata))
	}))
	defer s.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	cell.Must(t, err)
	answer, err := c.Do(r)
	cell.Must(t, err)
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || len(text) != maxMetadata || answer.StatusCode != http.StatusFound {
		t.Errorf("status %d, %d bytes, %v", answer.StatusCode, len(text), err)
	}
}
