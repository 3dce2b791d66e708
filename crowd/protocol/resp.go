package protocol

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/heddle-network/heddle/crowd/payload"
)

// command is a command as redis reads it: an array of bulk strings.
func command(words ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, w := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

// filled writes a command with one word more, which makes it as large as it is to be, in bytes, and has one letter at least. Where
// one letter more would make its number a digit longer, the name before it has a letter more.
func filled(to *bufio.Writer, size int64, words ...string) {
	_, head, _ := strings.Cut(command(words...), "\r\n")
	head = fmt.Sprintf("*%d\r\n%s$", len(words)+1, head)
	left := size - int64(len(head)+len("\r\n\r\n")) // for the letters, and their number
	letters := left - digits(left)
	if letters > 0 && letters+digits(letters) < left {
		if letters++; letters+digits(letters) > left {
			words[len(words)-1] += "m"
			filled(to, size, words...)
			return
		}
	}
	letters = max(1, letters)
	fmt.Fprintf(to, "%s%d\r\n", head, letters)
	payload.Fill(to, letters)
	to.WriteString("\r\n")
}

func digits(of int64) int64 { return int64(len(fmt.Sprint(of))) }

func say(to io.Writer, words string) error {
	if _, err := io.WriteString(to, words); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	return nil
}

// reply reads the first line of an answer, without its end.
func reply(in *bufio.Reader) (string, error) {
	line, err := in.ReadSlice('\n')
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return "", fmt.Errorf("read answer: %w", err)
	}
	return strings.TrimSuffix(string(line), "\r\n"), nil
}

// expect reads the first line of an answer, and refuses another one than is wanted.
func expect(in *bufio.Reader, want string) error {
	line, err := reply(in)
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(line, "-"):
		return errors.New("read answer: redis says " + line[1:])
	case line != want && strings.HasPrefix(line, "$"):
		return errors.New("read answer: its size is not what was asked for")
	case line != want:
		return errors.New("read answer: it is not what was asked for")
	}
	return nil
}
