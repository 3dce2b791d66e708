package cloud

import (
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/test/cell"
)

// Serve serves an API, and a metadata service at an address of this namespace, until the test ends. It returns the API's host, and a file with the certificate of who
// vouches for it.
func Serve(t testing.TB, api http.Handler, metadata http.Handler, addr string) (host, ca string) {
	t.Helper()
	cell.TrySh("ip address add %s/32 dev lo", addr)
	t.Cleanup(func() { cell.TrySh("ip address delete %s/32 dev lo", addr) })
	l, err := net.Listen("tcp", addr+":80")
	cell.Must(t, err)
	meta := &http.Server{Handler: metadata}
	go meta.Serve(l)
	t.Cleanup(func() { meta.Close() })
	server := httptest.NewTLSServer(api)
	t.Cleanup(server.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	cell.Must(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	return strings.TrimPrefix(server.URL, "https://"), ca
}
