package main

import (
	"errors"
	"strings"

	"github.com/heddle-network/heddle"
)

// printError writes an error to standard error, as text or as a document.
func (s *session) printError(err error) {
	var e *heddle.Error
	if !errors.As(err, &e) {
		e = &heddle.Error{Kind: heddle.Failed, Op: "run command", Cause: err.Error()}
	}
	if !s.isText() && writeDocument(s.stderr, s.format, "Error", e) == nil {
		return
	}
	_ = printLine(s.stderr, "%s %s\n", s.colour(s.stderr, red, "heddle:"), e.Sentence())
	if e.Remedy != "" {
		_ = printLine(s.stderr, "  hint: %s\n", e.Remedy)
	}
	if e.Code != "" {
		_ = printLine(s.stderr, "  id:   %s ('heddle explain %s')\n", e.Code, e.Code)
	}
}

// requestedFormat looks for -o before cobra does, so that an error about an earlier
// argument is in this format, too.
func requestedFormat(args []string) string {
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
