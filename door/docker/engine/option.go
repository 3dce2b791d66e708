package engine

import (
	"maps"

	"github.com/heddle-network/heddle/door/docker"
)

// identified are the options with the network's identity: Docker's own ids differ
// from host to host.
func identified(options map[string]string, id string) map[string]string {
	all := map[string]string{docker.KeyID: id}
	maps.Copy(all, without(options))
	return all
}

// without are the options but for the identity; nil if there are none.
func without(options map[string]string) map[string]string {
	all := maps.Clone(options)
	delete(all, docker.KeyID)
	return filled(all)
}

// filled is nil instead of an empty map: so a record is the same however dockerd
// writes it.
func filled(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}
