package main

import (
	"bytes"
	"os"
	"strconv"
	"unicode/utf8"
)

// setting returns where to find the agent: what the network configuration says,
// or the environment, or the default.
func setting(conf []byte, key, variable, fallback string) string {
	if v, ok := topLevel(conf, key); ok && v != "" {
		return v
	}
	if v := os.Getenv(variable); v != "" {
		return v
	}
	return fallback
}

func versionOf(conf []byte) string {
	if v, ok := topLevel(conf, "cniVersion"); ok && v != "" {
		return v
	}
	return "1.1.0"
}

// topLevel finds a string among the members of a JSON object without decoding the object:
// the agent decodes it, and reports errors. If a member occurs twice, the last one counts,
// as with encoding/json.
func topLevel(doc []byte, key string) (value string, found bool) {
	if !bytes.Contains(doc, []byte(`"`+key+`"`)) {
		return "", false
	}
	members(doc, func(name []byte, at int) {
		if string(name) != key {
			return
		}
		value, found = "", false
		if doc[at] == '"' {
			if raw, _ := stringAt(doc, at); raw != nil {
				value, found = unescape(raw)
			}
		}
	})
	return value, found
}

// object finds an object among the members of a JSON object; nil if there is none. What follows it
// in the document follows it here.
func object(doc []byte, key string) (from []byte) {
	members(doc, func(name []byte, at int) {
		if string(name) == key && doc[at] == '{' {
			from = doc[at:]
		}
	})
	return from
}

// members calls f with the name of each member of a JSON object and the index of its value.
func members(doc []byte, f func(name []byte, at int)) {
	depth := 0
	for i := 0; i < len(doc); {
		switch doc[i] {
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth--; depth == 0 {
				return
			}
			i++
		case '"':
			var name []byte
			name, i = stringAt(doc, i)
			if at := skip(doc, i, ':'); depth == 1 && at > i && at < len(doc) {
				f(name, at)
				i = at
			}
		default:
			i++
		}
	}
}

// stringAt returns what stands between the quotes, and the index after them; nil
// if the string does not end.
func stringAt(doc []byte, from int) ([]byte, int) {
	for i := from + 1; i < len(doc); i++ {
		switch doc[i] {
		case '\\':
			i++
		case '"':
			return doc[from+1 : i], i + 1
		}
	}
	return nil, len(doc)
}

// skip returns the index after a separator and the blanks around it; without a separator,
// the index is unchanged.
func skip(doc []byte, from int, separator byte) int {
	i := blanks(doc, from)
	if i == len(doc) || doc[i] != separator {
		return from
	}
	return blanks(doc, i+1)
}

func blanks(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\t' || doc[i] == '\n' || doc[i] == '\r') {
		i++
	}
	return i
}

// unescape reads the escapes that occur in a path; with others there is no
// value.
func unescape(raw []byte) (string, bool) {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] != '\\':
			out = append(out, raw[i])
		case i+1 < len(raw) && (raw[i+1] == '/' || raw[i+1] == '"' || raw[i+1] == '\\'):
			i++
			out = append(out, raw[i])
		case i+5 < len(raw) && raw[i+1] == 'u':
			r, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
			if err != nil || r >= 0xd800 && r < 0xe000 {
				return "", false
			}
			out = utf8.AppendRune(out, rune(r))
			i += 5
		default:
			return "", false
		}
	}
	return string(out), true
}
