// Package lazyregexp compiles a regular expression when it is first used. A program has dozens of them,
// uses two or three in a run, and would spend a fifth of its start on compiling all. Go's own commands do
// the same (internal/lazyregexp).
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression that is compiled once, when it is first used. Any number of goroutines may use it at once.
type Regexp struct {
	text    string
	compile func() *regexp.Regexp
}

// New returns the expression; its text has the syntax of package regexp. The first use panics if the text is
// wrong, so each expression needs a test that uses it.
func New(text string) *Regexp {
	return &Regexp{text, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// String returns the expression's text.
func (r *Regexp) String() string { return r.text }

// The methods do what those of regexp.Regexp do.

func (r *Regexp) MatchString(s string) bool { return r.compile().MatchString(s) }

func (r *Regexp) Match(b []byte) bool { return r.compile().Match(b) }

func (r *Regexp) FindString(s string) string { return r.compile().FindString(s) }

func (r *Regexp) FindStringIndex(s string) []int { return r.compile().FindStringIndex(s) }

func (r *Regexp) FindStringSubmatch(s string) []string { return r.compile().FindStringSubmatch(s) }

func (r *Regexp) FindAllString(s string, n int) []string { return r.compile().FindAllString(s, n) }

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compile().FindAllStringSubmatch(s, n)
}

func (r *Regexp) ReplaceAll(b, to []byte) []byte { return r.compile().ReplaceAll(b, to) }

func (r *Regexp) ReplaceAllString(s, to string) string { return r.compile().ReplaceAllString(s, to) }

func (r *Regexp) ReplaceAllStringFunc(s string, to func(string) string) string {
	return r.compile().ReplaceAllStringFunc(s, to)
}

func (r *Regexp) Split(s string, n int) []string { return r.compile().Split(s, n) }
