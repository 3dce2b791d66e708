package docker

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle"
)

// pendingEndpoint is an endpoint that the engine has created, and that no container has joined.
type pendingEndpoint struct {
	// DockerNetwork is the engine's id of its network.
	DockerNetwork string               `json:"dockerNetwork"`
	Request       heddle.AttachRequest `json:"request"`
}

// pendingEndpoints are files in the run folder, so they survive the agent. After a reboot the engine
// deletes its endpoints by itself.
type pendingEndpoints struct{ dir string }

func openPendingEndpoints(dir string) (*pendingEndpoints, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, heddle.Wrap(heddle.LedgerFull, "make folder", dir, err, "give a folder that can be written with --run-dir")
	}
	return &pendingEndpoints{dir}, nil
}

// file is the path for an endpoint. The id is checked before it is used in the path.
func (d *pendingEndpoints) file(endpoint string) (string, error) {
	if err := endpointID(endpoint).Check(); err != nil || strings.HasSuffix(endpoint, ".new") {
		return "", heddle.Errorf(heddle.BadID, "read endpoint id", strconv.Quote(heddle.Clip(endpoint)),
			"it is not an id of Docker's", "give an id of 64 hexadecimal digits")
	}
	return filepath.Join(d.dir, endpoint), nil
}

func (d *pendingEndpoints) put(endpoint string, e pendingEndpoint) error {
	path, err := d.file(endpoint)
	if err != nil {
		return err
	}
	text, err := json.Marshal(e)
	if err == nil {
		if err = os.WriteFile(path+".new", text, 0o600); err == nil {
			err = os.Rename(path+".new", path)
		}
	}
	if err != nil {
		return heddle.Wrap(heddle.LedgerFull, "write endpoint to file", path, err, "make room on that file system")
	}
	return nil
}

func (d *pendingEndpoints) get(endpoint string) (e pendingEndpoint, known bool, err error) {
	path, err := d.file(endpoint)
	if err != nil {
		return e, false, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return e, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err != nil {
		return e, false, heddle.Wrap(heddle.LedgerBroken, "read endpoint from file", path, err, "remove the file")
	}
	return e, true, nil
}

func (d *pendingEndpoints) drop(endpoint string) error {
	path, err := d.file(endpoint)
	if err != nil {
		return nil // it was never put
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return heddle.Wrap(heddle.LedgerFull, "remove file", path, err, "remove the file by hand")
	}
	return nil
}

// dropOfNetworks deletes the endpoints of the engine's networks for which gone is true.
func (d *pendingEndpoints) dropOfNetworks(gone func(dockerNetwork string) bool) error {
	files, err := os.ReadDir(d.dir)
	if err != nil {
		return heddle.Wrap(heddle.LedgerBroken, "read folder", d.dir, err, "make the folder readable, or remove it")
	}
	var errs []error
	for _, f := range files {
		if e, known, err := d.get(f.Name()); err == nil && known && gone(e.DockerNetwork) {
			errs = append(errs, d.drop(f.Name()))
		}
	}
	return errors.Join(errs...)
}
