package lab

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle"
)

// Read reads a topology file: one YAML document, without unknown keys. Raise checks the
// values.
func Read(file string) (Topology, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return Topology{}, heddle.Wrap(heddle.BadArgument, "read topology", file, err, "name a readable file")
	}
	t, err := parse(b)
	if err != nil {
		return t, heddle.Wrap(heddle.BadArgument, "read topology", file,
			err, "correct the file; docs/guides/lab.md has all keys")
	}
	return t, nil
}

func parse(b []byte) (t Topology, err error) {
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&t); err != nil {
		return t, plainError(err)
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return t, errors.New("it holds more than one document")
	}
	return t, nil
}

var unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)

// plainError rewrites the parser's messages, which name Go types, in terms of the file.
func plainError(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	}
	var all *yaml.TypeError
	if !errors.As(err, &all) {
		return err
	}
	return errors.New(unknownKey.ReplaceAllString(strings.Join(all.Errors, "; "), "unknown key $1"))
}
