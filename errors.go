package heddle

import (
	"errors"
	"slices"
	"strings"
)

// Kind classes an error by what the caller can do about it. Its number is the
// exit code of the command line.
type Kind int

// The exit codes of the command line; 0 is success.
const (
	Failed      Kind = 1 // a check failed, or the kernel refused
	Usage       Kind = 2 // the request is malformed
	Unreachable Kind = 3 // the agent does not answer
	Unavailable Kind = 4 // this kernel cannot do it
	Conflict    Kind = 5 // something else has the name, the address, the port
	Timeout     Kind = 6
	Partial     Kind = 7 // some of it was done
)

// Code is a stable error id ("HDL-2009"); Explain has its story.
type Code string

// Error says what failed, on which object, why, and what to do.
type Error struct {
	Code   Code   `json:"id"`
	Kind   Kind   `json:"exit"`
	Op     string `json:"operation"`        // "create network"
	Object string `json:"object,omitempty"` // "web"
	// Cause is the kernel's or the library's own message, if there is one.
	Cause  string `json:"cause,omitempty"`
	Remedy string `json:"remedy,omitempty"` // what to do next
	err    error
}

// Sentence is the error without its remedy and code.
func (e *Error) Sentence() string {
	s := e.Op
	if e.Object != "" {
		s += " " + e.Object
	}
	if e.Cause != "" {
		s += ": " + e.Cause
	}
	return s
}

func (e *Error) Error() string {
	s := e.Sentence()
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s + " [" + string(e.Code) + "]"
}

// Unwrap returns the cause as an error.
func (e *Error) Unwrap() error { return e.err }

// Is makes errors.Is match a Sentinel of the same code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Op == ""
}

// Errorf makes an error of a known code: the operation that failed, the object it failed on, why, and
// what to do next. Each is a phrase that makes sense alone; an empty cause is the title of the code.
func Errorf(c Code, op, object, cause, remedy string) *Error {
	x := explanations[c]
	if cause == "" {
		cause = x.Title
	}
	return &Error{Code: c, Kind: x.Kind, Op: op, Object: object, Cause: cause, Remedy: remedy}
}

// Wrap makes an error of a known code around the cause's own words. A cause
// that is an *Error already is returned unchanged: it knows better.
func Wrap(c Code, op, object string, cause error, remedy string) error {
	var known *Error
	if errors.As(cause, &known) {
		return cause
	}
	return &Error{Code: c, Kind: explanations[c].Kind, Op: op, Object: object, Cause: cause.Error(), Remedy: remedy, err: cause}
}

// ErrorOf returns the error as one of ours. Another one becomes the cause of the operation's failure. It returns nil for nil.
func ErrorOf(op string, err error) *Error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return e
	}
	return &Error{Kind: Failed, Op: op, Cause: strings.TrimSpace(err.Error())}
}

// In finds the error of this code that err is, joins or wraps; nil if there is none.
func (c Code) In(err error) *Error {
	switch e := err.(type) {
	case *Error:
		if e.Code == c {
			return e
		}
		return c.In(e.err)
	case interface{ Unwrap() error }:
		return c.In(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if found := c.In(one); found != nil {
				return found
			}
		}
	}
	return nil
}

// Sentinel returns a target for errors.Is.
func (c Code) Sentinel() error { return &Error{Code: c} }

// CauseOf returns the cause of the first *Error in err, or the text of a foreign error.
func CauseOf(err error) string {
	var known *Error
	if errors.As(err, &known) && known.Cause != "" {
		return known.Cause
	}
	return err.Error()
}

// SentenceOf returns the sentence of the first *Error in err, or the text of a foreign error.
func SentenceOf(err error) string {
	var known *Error
	if errors.As(err, &known) {
		return known.Sentence()
	}
	return err.Error()
}

// RemedyOf returns the remedies of the *Errors in err, the innermost first, each once: it is
// nearest to the cause. It is "" for a foreign error.
func RemedyOf(err error) string {
	var all []string
	for known := (*Error)(nil); errors.As(err, &known); err = known.err {
		if known.Remedy != "" && !slices.Contains(all, known.Remedy) {
			all = append(all, known.Remedy)
		}
	}
	slices.Reverse(all)
	return strings.Join(all, "; ")
}

// FirstRemedy puts the remedy of a cause before another one.
func FirstRemedy(cause error, remedy string) string {
	if first := RemedyOf(cause); first != "" && first != remedy {
		return first + "; " + remedy
	}
	return remedy
}

// KindOf returns the error's kind, Failed for a foreign error, 0 for none.
func KindOf(err error) Kind {
	var known *Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &known):
		return known.Kind
	default:
		return Failed
	}
}

// Explanation is what "heddle explain CODE" prints.
type Explanation struct {
	Kind   Kind   `json:"exit"`
	Title  string `json:"title"`
	Reason string `json:"reason"`
	Remedy string `json:"remedy"`
}

// Explain returns the story of an error id.
func Explain(c Code) (Explanation, bool) {
	x, ok := explanations[c]
	return x, ok
}

// Codes lists all error ids.
func Codes() []Code {
	var all []Code
	for c := range explanations {
		all = append(all, c)
	}
	return all
}
