package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// patience is how long a command of a client may take: to start a container, dockerd alone waits for a quarter of a minute
// for a driver, and for more on a machine that is busy.
const patience = 3 * time.Minute

// command is a command of a client.
type command struct {
	program string
	args    []string
	input   func(io.Writer) error // nil is none
	env     []string              // beside this process's own
}

// run runs the command, and returns what it printed. It ends by itself, whatever happens: of a container that is half made nobody
// would know. So a terminal's Ctrl-C is not for it, nor the context's end. The error has the client's own words.
func (c command) run(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, c.program, c.args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &said, time.Second
	cmd.Env = append(os.Environ(), c.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var failed error
	if c.input != nil {
		r, w := io.Pipe()
		cmd.Stdin = r
		go func() { w.CloseWithError(c.input(w)) }()
		defer r.Close()
	}
	if err := cmd.Run(); err != nil {
		failed = fmt.Errorf("%s: %w", c.program, err)
		if words := strings.TrimSpace(said.String()); words != "" {
			failed = errors.New(clean(words))
		}
		if ctx.Err() != nil {
			failed = fmt.Errorf("%s took more than %s: %w", c.program, patience, failed)
		}
	}
	return strings.TrimSpace(out.String()), failed
}

// clean is what a client said in one line, without its advice to read its help.
func clean(words string) string {
	var all []string
	for one := range strings.Lines(words) {
		if one = strings.TrimSpace(one); one != "" && !strings.HasPrefix(one, "Run '") && !strings.HasPrefix(one, "See '") {
			all = append(all, one)
		}
	}
	return strings.Join(all, "; ")
}

// line is the last line of what a program said.
func line(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// maxWords is how much of a log an error has, in bytes.
const maxWords = 600

// tail is the end of a log.
func tail(text string) string {
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[max(0, len(text)-maxWords):], "")
}
