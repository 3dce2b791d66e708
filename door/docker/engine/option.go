package engine

import (
	"maps"

	"github.com/heddle-network/heddle/door/docker"
)

// identified are the options with the network's id added: Docker's own ids differ from
// host to host.
func identified(options map[string]string, id string) map[string]string {
	all := map[string]string{docker.KeyID: id}
	maps.Copy(all, without(options))
	return all
}

// without are the options without that id; nil if there are none.
func without(options map[string]string) map[string]string {
	all := maps.Clone(options)
	delete(all, docker.KeyID)
	return filled(all)
}

// filled returns nil for an empty map, so that a record is the same for both forms that
// dockerd writes.
func filled(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}
