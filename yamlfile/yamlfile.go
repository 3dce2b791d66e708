// Package yamlfile reads YAML that people write: one document, without unknown keys. Its errors name lines and
// keys, and no Go types.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Decode reads the text into a value, as yaml.Unmarshal does.
func Decode(text []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		return plainError(text, err)
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return errors.New("it holds more than one document")
	}
	return nil
}

// Refuse returns an error about a value, for its UnmarshalYAML. Decode adds line and key.
func Refuse(value *yaml.Node, format string, args ...any) error {
	why := fmt.Sprintf(format, args...)
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: column %d: %s", value.Line, value.Column, why)}}
}

// Where names the line and the key at which the keys lead to, or to the deepest of them that is there.
func Where(text []byte, keys ...string) string {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil {
		return strings.Join(keys, ".")
	}
	line := 1
	at := &root
	for _, key := range append([]string{""}, keys...) {
		if at.Kind == yaml.DocumentNode {
			at = at.Content[0]
			continue
		}
		name, value := entry(at, key)
		if value == nil {
			break
		}
		line, at = name.Line, value
	}
	return fmt.Sprintf("line %d, %s", line, strings.Join(keys, "."))
}

// entry finds a key of a mapping, and its value.
func entry(mapping *yaml.Node, key string) (name, value *yaml.Node) {
	if mapping.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

var (
	unknownKey = regexp.MustCompile(`field (\S+) not found in type .+`)
	refused    = regexp.MustCompile(`^line (\d+): column (\d+): `)
)

// plainError rewrites the parser's messages, which name Go types, in terms of the file.
func plainError(text []byte, err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	}
	var all *yaml.TypeError
	if !errors.As(err, &all) {
		return err
	}
	var words []string
	for _, one := range all.Errors {
		if m := refused.FindStringSubmatch(one); m != nil {
			one = fmt.Sprintf("line %s%s: %s", m[1], keyAt(text, m[1], m[2]), one[len(m[0]):])
		}
		words = append(words, unknownKey.ReplaceAllString(one, "unknown key $1"))
	}
	return errors.New(strings.Join(words, "; "))
}

// keyAt names the keys that lead to the value at a line and column, after a comma.
func keyAt(text []byte, line, column string) string {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil {
		return ""
	}
	return pathTo(&root, line+":"+column, "")
}

func pathTo(n *yaml.Node, place, path string) string {
	if path != "" && fmt.Sprintf("%d:%d", n.Line, n.Column) == place {
		return path
	}
	for i, child := range n.Content {
		below := path
		if n.Kind == yaml.MappingNode {
			separator := "."
			if path == "" {
				separator = ", "
			}
			below += separator + n.Content[i-i%2].Value
		}
		if found := pathTo(child, place, below); found != "" {
			return found
		}
	}
	return ""
}
