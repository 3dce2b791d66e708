package main

import (
	"errors"
	"strings"

	"github.com/heddle-network/heddle"
)

// complain writes an error to standard error: for people, or as a document.
func (s *session) complain(err error) {
	var e *heddle.Error
	if !errors.As(err, &e) {
		e = &heddle.Error{Kind: heddle.Failed, Op: "run command", Cause: err.Error()}
	}
	if s.format != formatTable && writeDocument(s.stderr, s.format, "Error", e) == nil {
		return
	}
	_ = say(s.stderr, "%s %s\n", s.colour(s.stderr, red, "heddle:"), e.Sentence())
	if e.Remedy != "" {
		_ = say(s.stderr, "  hint: %s\n", e.Remedy)
	}
	if e.Code != "" {
		_ = say(s.stderr, "  id:   %s ('heddle explain %s')\n", e.Code, e.Code)
	}
}

// wantedFormat looks for -o before cobra does, so that an error about an argument before
// it has the format, too.
func wantedFormat(args []string) string {
	for i, a := range args {
		value, joined := strings.CutPrefix(a, "--output=")
		switch {
		case a == "--":
			return formatTable
		case joined:
		case (a == "-o" || a == "--output") && i+1 < len(args):
			value = args[i+1]
		case strings.HasPrefix(a, "-o") && len(a) > 2:
			value = strings.TrimPrefix(a[2:], "=")
		}
		if value == formatJSON || value == formatYAML {
			return value
		}
	}
	return formatTable
}
