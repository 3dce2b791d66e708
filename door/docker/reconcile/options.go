package reconcile

import (
	"maps"

	"github.com/heddle-network/heddle/door/docker"
)

// withID are the options with the network's id added: Docker's own ids differ from
// host to host.
func withID(options map[string]string, id string) map[string]string {
	all := map[string]string{docker.KeyID: id}
	maps.Copy(all, withoutID(options))
	return all
}

// withoutID are the options without that id; nil if there are none.
func withoutID(options map[string]string) map[string]string {
	all := maps.Clone(options)
	delete(all, docker.KeyID)
	return nilIfEmpty(all)
}

// nilIfEmpty returns nil for an empty map, so that a record is the same for both forms that
// dockerd writes.
func nilIfEmpty(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}
