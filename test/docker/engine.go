package docker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
)

// Engine asks the host's dockerd for what is at a path of its API (Docker Engine API), and reads the
// answer into a value, which may be nil. It starts no program, so it is what tests wait with: the docker command takes a
// twentieth of a second of a processor for each question. What a user types is typed with Docker.
func (h *Host) Engine(path string, answer any) error {
	socket := filepath.Join("/proc", fmt.Sprint(h.Pid), "root", dockerSocket)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	engine := http.Client{Timeout: callTime, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	reply, err := engine.Get("http://docker" + path)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	switch {
	case err != nil:
		return err
	case reply.StatusCode != http.StatusOK:
		return fmt.Errorf("dockerd of %s answers %s with %s: %s", h.Name(), path, reply.Status, strings.TrimSpace(string(text)))
	case answer == nil:
		return nil
	}
	return json.Unmarshal(text, answer)
}
