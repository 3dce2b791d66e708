package container

import (
	"strings"
	"sync"
	"unicode"
)

// tail keeps the last words of a program. Its zero value is ready.
type tail struct {
	mu   sync.Mutex
	last []byte
}

// maxTail is how much is kept, in bytes.
const maxTail = 2 << 10

// Write takes words, and never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, b[max(0, len(b)-maxTail):]...)
	if more := len(t.last) - maxTail; more > 0 {
		t.last = append(t.last[:0], t.last[more:]...)
	}
	return len(b), nil
}

// String is what was said last, lines joined by semicolons. What would steer a terminal is left out: strangers may have had it said.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.FieldsFunc(strings.ToValidUTF8(string(t.last), ""), func(r rune) bool { return r == '\n' })
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.Join(lines, "; "))
}
