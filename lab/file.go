package lab

import (
	"os"

	"github.com/heddle-network/heddle"
	"github.com/heddle-network/heddle/yamlfile"
)

// Read reads a topology file: one YAML document, without unknown keys. Raise checks the
// values.
func Read(file string) (Topology, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return Topology{}, heddle.Wrap(heddle.BadArgument, "read topology", file, err, "name a readable file")
	}
	var t Topology
	if err := yamlfile.Decode(b, &t); err != nil {
		return t, heddle.Wrap(heddle.BadArgument, "read topology", file,
			err, "correct the file; docs/guides/lab.md has all keys")
	}
	return t, nil
}
