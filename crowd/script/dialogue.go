package script

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/heddle-network/heddle/crowd/container"
	"github.com/heddle-network/heddle/crowd/scenario"
	"github.com/heddle-network/heddle/crowd/socket"
)

const (
	// patience is how long a script may take for an answer, its start included.
	patience = 10 * time.Second
	// maxAnswer is how long the line of an answer may be, in bytes: a session of the most steps, each with ten answers, has room.
	maxAnswer = 256 << 10
	// maxProcesses is how many processes the user nobody may have when a script makes one more. Programs that answer for services run as
	// nobody, too.
	maxProcesses = 4096
	// maxMemory is the data of each of a script's processes (RLIMIT_DATA), in bytes: address space alone is reserved by many interpreters.
	maxMemory = 1 << 30
	// room is how much the files of a script's container take at most, in bytes.
	room = 1 << 20
)

// file is where a script is in its container.
const file = "/behaviour"

// limiter is the program of util-linux that starts another one with limits (prlimit(1)): so they are there before its first instruction.
const limiter = "/usr/bin/prlimit"

// dialogue is a script that runs, and is asked one question after the other.
type dialogue struct {
	container *container.Container // nil if it has not been started
	questions *os.File             // the script's standard input
	answers   *os.File             // its standard output

	mu       sync.Mutex // who asks
	lines    *bufio.Reader
	patience time.Duration
	failed   error // it is asked nothing more
}

// errClosed says that the author has been closed.
var errClosed = errors.New("no script is asked any more")

// begin starts a script. If it cannot, whoever asks is told.
func begin(n socket.Namespace, b scenario.Behaviour, patience time.Duration) *dialogue {
	d := &dialogue{patience: patience}
	d.failed = d.start(n, b)
	return d
}

func (d *dialogue) start(n socket.Namespace, b scenario.Behaviour) error {
	path, args := b.Interpreter()
	path, err := interpreter(path)
	if err != nil {
		return err
	}
	in, questions, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	answers, out, err := os.Pipe()
	if err != nil {
		questions.Close()
		return err
	}
	defer out.Close()
	limits := []string{limit("nproc", unix.RLIMIT_NPROC, maxProcesses), limit("data", unix.RLIMIT_DATA, maxMemory), "--core=0", "--", path}
	d.container, err = container.Start(n, container.Program{Path: limiter, Args: slices.Concat(limits, args, []string{file}), Size: room,
		Input: in, Output: out, Files: []container.File{{Name: file, Write: func(w io.Writer) error { _, err := io.WriteString(w, b.Script); return err }}}})
	if err != nil {
		questions.Close()
		answers.Close()
		return err
	}
	d.questions, d.answers, d.lines = questions, answers, bufio.NewReaderSize(answers, maxAnswer)
	return nil
}

// limit is an argument of the limiter. What may be less anyway stays.
func limit(name string, of int, most uint64) string {
	var now unix.Rlimit
	if unix.Getrlimit(of, &now) == nil {
		most = min(most, now.Max)
	}
	return fmt.Sprintf("--%s=%d", name, most)
}

// interpreter is how a container finds an interpreter of this host. Links that lead out of what it sees, such as those of
// /etc/alternatives, are followed; others stay, as programs may do by their name what they do.
func interpreter(path string) (string, error) {
	is, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("find the interpreter: %w", err)
	}
	if !container.Shows(is) {
		return "", fmt.Errorf("no container sees the interpreter %s; it sees /usr", is)
	}
	if to, err := os.Readlink(path); err == nil && filepath.IsAbs(to) && !container.Shows(to) {
		return is, nil
	}
	return path, nil
}

// ask writes a question, and reads the line of the answer. After an error nothing more is asked: the next line might answer an
// earlier question.
func (d *dialogue) ask(ctx context.Context, question []byte) (line []byte, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failed != nil {
		return nil, d.failed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// A question is answered though nobody waits for it any more: the script can be asked again.
	d.questions.SetDeadline(time.Now().Add(d.patience))
	d.answers.SetDeadline(time.Now().Add(d.patience))
	if d.lines.Buffered() > 0 {
		err = errors.New("it has written more than one line for an answer")
	} else if _, err = d.questions.Write(append(question, '\n')); err == nil {
		line, err = d.lines.ReadSlice('\n')
	}
	if err != nil {
		d.failed = d.reason(err)
		return nil, d.failed
	}
	return slices.Clone(line[:len(line)-1]), nil
}

// reason says why there was no answer, and ends the script.
func (d *dialogue) reason(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return errClosed
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("it does not answer within %s", d.patience)
	case errors.Is(err, bufio.ErrBufferFull):
		err = fmt.Errorf("its answer is longer than %d bytes", maxAnswer)
	case errors.Is(err, io.EOF), errors.Is(err, syscall.EPIPE):
		select {
		case <-d.container.Ended():
			return fmt.Errorf("it has ended: %s", d.container.How())
		case <-time.After(time.Second):
			err = errors.New("it has closed its input or output")
		}
	}
	d.container.Close()
	if words := d.container.Words(); words != "" {
		err = fmt.Errorf("%w; it said: %s", err, words)
	}
	return err
}

// end ends the script. Whoever asks it is told.
func (d *dialogue) end() {
	if d.container == nil {
		return
	}
	d.questions.Close()
	d.answers.Close()
	d.container.Close()
}
