package main

import (
	"regexp"
	"strings"
)

// reason is the last line that a skipped test printed before its verdict.
func reason(output []string) string {
	text := ""
	for _, line := range output {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "===") || strings.HasPrefix(line, "---") {
			continue
		}
		_, after, found := strings.Cut(line, ".go:")
		if _, message, ok := strings.Cut(after, ": "); found && ok {
			line = message
		}
		text = line
	}
	return text
}

// line is one that a test logged: its file, and what it says.
var line = regexp.MustCompile(`^\s*(\w+_test\.go:\d+: .+)`)

// said is the last line that a test logged, after a colon: the sentence that broke, for
// most end with that. It is empty if the test logged nothing, such as one whose part failed.
func said(output []string) string {
	for i := len(output) - 1; i >= 0; i-- {
		if m := line.FindStringSubmatch(output[i]); m != nil {
			return ": " + strings.TrimSpace(m[1])
		}
	}
	return ""
}

// each are the flags that the Makefile gives to every test, without -json.
const each = "-vet=off -timeout 75m -count=1"

// again is the command that runs one test, or a whole package, again.
func again(key string) string {
	name, test, _ := strings.Cut(key, " ")
	at := "./" + strings.TrimPrefix(name, "./") // a folder that is missing is named so
	if name == short("") {
		at = "."
	}
	command := "CGO_ENABLED=0 go test -trimpath " + each
	if test == "" {
		return command + " " + at
	}
	return command + " -v " + at + " -run " + quote(pattern(test))
}

// pattern is the -run that fits one test alone: an expression for each level of its name. Go
// has made _ of a name's blanks, and does the same to a pattern's.
func pattern(test string) string {
	parts := strings.Split(strings.ReplaceAll(test, " ", "_"), "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// quote makes one word of a text for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// short is a package's name without the module's. What is compiled for a package's tests
// has that package in brackets: "a [a.test]", "a_test [a.test]", "b [a.test]".
func short(path string) string {
	if _, tested, found := strings.Cut(path, " ["); found {
		path = strings.TrimSuffix(tested, ".test]")
	}
	path = strings.TrimPrefix(path, module)
	if path == "" {
		return "(root)"
	}
	return strings.TrimPrefix(path, "/")
}
