package protocol

import (
	"errors"
	"fmt"
	"strings"

	"github.com/heddle-network/heddle/crowd/payload"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// MessageSize is how large each message of a mailbox is, in bytes. A larger answer is parts of several, one after the other.
const MessageSize = 1 << 20

// part is a part of a message, which is numbered from 1.
type part struct{ message, from, size int64 }

// partOf is the part that answers a request, or a piece of its answer.
func partOf(r Request, size int64) part {
	at := begins(r, size)
	return part{1 + at/MessageSize, min(at%MessageSize, MessageSize-size), size}
}

func (p part) question(tag string) string {
	return fmt.Sprintf("%s FETCH %d BODY.PEEK[]<%d.%d>\r\n", tag, p.message, p.from, p.size)
}

// answers are those to questions that are under way. A server may say that it has answered one after it has answered the next.
type answers struct {
	*dialogue
	asked, done int
}

// line reads a line, and counts it if it says that a command was done.
func (a *answers) line() (string, error) {
	line, err := a.dialogue.line()
	if err == nil && a.no(line) {
		err = errors.New("read answer: the service says " + line)
	}
	if tag, rest, _ := strings.Cut(line, " "); tag != "*" && strings.HasPrefix(rest, "OK ") {
		a.done++
	}
	return line, err
}

// read reads a part, but for the line that says that this was done.
func (a *answers) read(p part) error {
	line, err := a.line()
	for err == nil && !strings.Contains(line, " FETCH ") {
		if a.done >= a.asked {
			return errors.New("read answer: it has no message")
		}
		line, err = a.line()
	}
	if err != nil {
		return err
	}
	if line != fmt.Sprintf("* %d FETCH (BODY[]<%d> {%d}", p.message, p.from, p.size) {
		return errors.New("read answer: it is not what was asked for")
	}
	if err := payload.Discard(a.in, p.size); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if line, err = a.line(); err == nil && line != ")" {
		err = errors.New("read answer: its size is not what was asked for")
	}
	return err
}

// parts makes a request, and reads its answer: each part of that is asked for before the one before has come.
func parts(d *dialogue, r Request) error {
	a := &answers{dialogue: d}
	var now part
	for size := range cut(max(r.Receives, 1), MessageSize) {
		next := partOf(r, size)
		said := next.question(imapTag)
		if now.size == 0 {
			said = filledQuestion(next, min(r.Sends, scenario.MaxHead))
		}
		if err := d.say("%s", said); err != nil {
			return err
		}
		a.asked += strings.Count(said, "\n")
		if now.size > 0 {
			if err := a.read(now); err != nil {
				return err
			}
		}
		now = next
	}
	err := a.read(now)
	for err == nil && a.done < a.asked {
		_, err = a.line()
	}
	return err
}

// filledQuestion is a question of a size in bytes, if it is not smaller.
func filledQuestion(p part, size int64) string {
	left := int(size) - len(p.question(imapTag))
	if left > longestTag {
		return clientID(left) + p.question(imapTag)
	}
	return p.question(imapTag + strings.Repeat("a", max(0, left)))
}

const (
	// longestTag is how many letters more than one a command's name may have: the server repeats it. No source: a guess.
	longestTag = 32
	// longestField is the size of a value of ID, in bytes, of which RFC 2971 allows 1024.
	longestField = 1000
)

// clientID is a command of a size in bytes, longestTag at least, by which a client says what it is.
func clientID(size int) string {
	fields := (size + longestField - 1) / longestField
	letters := size - len("i ID ()\r\n") - fields*len(`"x1" "" `) + 1
	var all []string
	for n := range cut(int64(letters), int64((letters+fields-1)/fields)) {
		all = append(all, fmt.Sprintf(`"x%d" "%s"`, len(all)+1, strings.Repeat("x", int(n))))
	}
	return "i ID (" + strings.Join(all, " ") + ")\r\n"
}
