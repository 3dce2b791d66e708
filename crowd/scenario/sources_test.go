package scenario_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSources: each number of what is built in has its source beside it or above it, or is said to be a guess.
func TestSources(t *testing.T) {
	var files []string
	for pattern, least := range map[string]int{"behaviours/*.yaml": 10, "cache.yaml": 1, "services.yaml": 1, "scenarios/*.yaml": 3} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < least {
			t.Fatal(found, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var above []string // the lines in which this one is, and a comment before it
		for i, line := range strings.Split(string(text), "\n") {
			words, comment, _ := strings.Cut(line, "#")
			said := source.MatchString(comment)
			for len(above) > 0 && indentation(above[len(above)-1]) >= indentation(line) && strings.TrimSpace(words) != "" {
				if last := above[len(above)-1]; strings.TrimLeft(last, " ")[0] == '#' && indentation(last) == indentation(line) {
					said = said || source.MatchString(last)
				}
				above = above[:len(above)-1]
			}
			for _, a := range above {
				said = said || source.MatchString(a)
			}
			if number.MatchString(words) && !certain.MatchString(words) && !said {
				t.Errorf("%s:%d: %q has no source", file, i+1, line)
			}
			if strings.TrimSpace(line) != "" {
				above = append(above, line)
			}
		}
	}
}

var (
	number = regexp.MustCompile(`[:\[] *[{\[]?.*[0-9]`)
	// certain are lines that need no source: the only way on, one connection or none, one server, all users, and how
	// large an example is.
	certain = regexp.MustCompile(`next: \{\w+: 1\} *$|connections: [01] *$|^(crowd|seed|users|clock): |\{sites: 1\} *$|share: 100% *$`)
	// source are the words of a comment that names one, says that there is none, or leads to where it is named.
	source = regexp.MustCompile(`guess|ns-[23]|EURASIP|AIT|D-ITG|3GPP|SPECweb|Arbor|CDF|Almanac|Chromium|Tauscher|the same|all as above`)
)

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
