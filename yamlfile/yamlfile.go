// Package yamlfile reads YAML that people write: one document, without unknown keys. Its errors name lines and
// keys, and no Go types.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-network/heddle/lazyregexp"
)

// Decode reads the text into a value, as yaml.Unmarshal does.
func Decode(text []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		return plainError(text, err, reflect.TypeOf(into))
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

// entry finds a key of a mapping, and its value; or an item of a list, by its number, from 1.
func entry(in *yaml.Node, key string) (name, value *yaml.Node) {
	switch in.Kind {
	case yaml.SequenceNode:
		if number, err := strconv.Atoi(key); err == nil && number >= 1 && number <= len(in.Content) {
			return in.Content[number-1], in.Content[number-1]
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(in.Content); i += 2 {
			if in.Content[i].Value == key {
				return in.Content[i], in.Content[i+1]
			}
		}
	}
	return nil, nil
}

// maxTold is how many errors of a file are told.
const maxTold = 10

// The parser's messages, and those of Refuse.
var (
	unknownKey = lazyregexp.New(`(?s)^(line \d+: )field (.*) not found in type .+$`)
	wrongKind  = lazyregexp.New("(?s)^(line \\d+: )cannot unmarshal (\\S+?)(?: `(.*)`)? into (.+)$")
	refused    = lazyregexp.New(`^line (\d+): column (\d+): `)
	plainWord  = lazyregexp.New(`^[\w.-]{1,60}$`)
)

// plainError rewrites the parser's messages, which name Go types, in terms of the file.
func plainError(text []byte, err error, into reflect.Type) error {
	if errors.Is(err, io.EOF) {
		return errors.New("it is empty")
	}
	var all *yaml.TypeError
	if !errors.As(err, &all) {
		return err
	}
	told := all.Errors[:min(len(all.Errors), maxTold)]
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil {
		return err
	}
	kinds := map[string]string{}
	addKinds(kinds, into)
	var words []string
	for _, one := range told {
		if m := refused.FindStringSubmatch(one); m != nil {
			line, _ := strconv.Atoi(m[1])
			column, _ := strconv.Atoi(m[2])
			one = fmt.Sprintf("line %d%s: %s", line, pathTo(&root, line, column, ""), one[len(m[0]):])
		} else if m := unknownKey.FindStringSubmatch(one); m != nil {
			one = m[1] + "unknown key " + quoted(m[2])
		} else if m := wrongKind.FindStringSubmatch(one); m != nil {
			one = m[1] + is(m[2], m[3]) + " is of the wrong kind"
			if wanted := kinds[m[4]]; wanted != "" {
				one += "; give " + wanted
			}
		}
		words = append(words, one)
	}
	if more := len(all.Errors) - len(told); more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(words, "; "))
}

// quoted is a key, in quotation marks if it is no plain word. A long one is cut.
func quoted(key string) string {
	if plainWord.MatchString(key) {
		return key
	}
	const long = 60
	if len(key) > long {
		key = key[:long] + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(key, ""))
}

// is names a value by its YAML tag and its text.
func is(tag, text string) string {
	switch tag {
	case "!!seq":
		return "a list"
	case "!!map":
		return "a mapping"
	}
	return strconv.Quote(strings.ToValidUTF8(text, ""))
}

// pathTo names the keys that lead to the value at a line and column, after a comma.
func pathTo(n *yaml.Node, line, column int, path string) string {
	if path != "" && n.Line == line && n.Column == column {
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
		if found := pathTo(child, line, column, below); found != "" {
			return found
		}
	}
	return ""
}
