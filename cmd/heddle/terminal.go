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

// width is the number of columns to write to, 0 where lines may have any
// length: a file or another program wants one object a line. COLUMNS is set by
// watch(1), which shows what it reads from a pipe.
func (s *session) width() int {
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

// Colours of words; they only repeat what the word says.
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
	return paint(code) + line(text) + paint(plainAgain)
}
