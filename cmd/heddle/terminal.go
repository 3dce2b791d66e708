package main

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

func isTerminal(w io.Writer) bool {
	if p, is := w.(printer); is {
		w = p.to
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// width is the number of columns of the terminal. It is 0, for lines of any length, if the
// output is a file or a pipe: other programs expect one object a line. watch(1) reads from
// a pipe and sets COLUMNS. Wide tables are never folded.
func (s *session) width() int {
	if s.isWide() {
		return 0
	}
	if n, err := strconv.Atoi(s.getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if !isTerminal(s.stdout) {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(s.stdout.(*os.File).Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// Colours of words. They carry no information that the word does not have.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	bold   = "1"
)

// colour paints text that a printer is to write on a terminal, unless NO_COLOR is set (no-color.org).
func (s *session) colour(w io.Writer, code, text string) string {
	if text == "" || !isTerminal(w) || s.getenv("NO_COLOR") != "" || s.getenv("TERM") == "dumb" {
		return text
	}
	return colourMark(code) + oneLine(text) + colourMark(resetColour)
}
