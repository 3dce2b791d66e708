package protocol

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/heddle-network/heddle/crowd/scenario"
)

// TestClientID: it is of each size, and has no field that is longer than RFC 2971 allows.
func TestClientID(t *testing.T) {
	for size := longestTag + 1; size <= scenario.MaxHead; size++ {
		words := clientID(size)
		if len(words) != size {
			t.Fatalf("%d bytes in place of %d: %.100q", len(words), size, words)
		}
		for i, field := range strings.Split(words, `"`) {
			if i%2 == 1 && len(field) > 1024 {
				t.Fatalf("%d bytes: a field of %d", size, len(field))
			}
		}
	}
}

// TestText: lines of a mail are as large in all as they are to be, and no longer than RFC 5321 allows; none begins with a dot.
func TestText(t *testing.T) {
	for _, size := range []int64{-5, 0, 1, 2, 3, 77, 78, 79, 80, 155, 156, 157, 5000, 32 << 10, 100_000, 100_001} {
		var b bytes.Buffer
		if err := text(&b, size); err != nil || int64(b.Len()) != max(2, size) {
			t.Errorf("%d bytes: %d, %v", size, b.Len(), err)
		}
		for line := range strings.Lines(b.String()) {
			if !strings.HasSuffix(line, "\r\n") || strings.Count(line, "\r") != 1 || len(line) > 1000 || line[0] == '.' {
				t.Errorf("%d bytes: %q", size, line)
			}
		}
	}
}

// TestParts: answers are taken in the order of their parts, whenever the server says that each question is done; what is not the answer is told.
func TestParts(t *testing.T) {
	r := Request{Site: 1, Sends: 128, Receives: 1_500_000}
	first, second := partOf(r, 750_000), partOf(r, 750_000)
	answer := func(p part) string {
		return fmt.Sprintf("* %d FETCH (BODY[]<%d> {%d}\r\n%s)\r\n", p.message, p.from, p.size, strings.Repeat("m", int(p.size)))
	}
	const id, done = "* ID NIL\r\ni OK ID completed.\r\n", "a OK Fetch completed.\r\n"
	for says, want := range map[string]string{
		id + answer(first) + done + answer(second) + done: "",
		id + answer(first) + answer(second) + done + done: "",
		id + done + answer(first) + answer(second) + done: "",
		id + answer(first) + done + done:                  "read answer: it has no message",
		id + answer(first) + done + "* BYE x\r\n":         "the service says * BYE x",
		id + "a NO x\r\n": "the service says a NO x",
		id + answer(part{first.message, first.from + 1, first.size}) + done:                  "read answer: it is not what was asked for",
		id + answer(first) + done + answer(second):                                           "unexpected EOF",
		id + strings.Replace(answer(first), "mm)", "mmm)", 1) + done + answer(second) + done: "read answer: its size is not what was asked for",
	} {
		err := parts(&dialogue{in: bufio.NewReader(strings.NewReader(says)), out: io.Discard, no: imapNo}, r)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q…: %v; expected %s", says, err, want)
		}
	}
}
