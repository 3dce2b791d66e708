package main

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"syscall"
)

// answerTimeout is how long the agent may send nothing, in seconds: longer than an ADD takes
// under any load, and shorter than runtimes wait for a plugin.
const answerTimeout = 60

// maxReply bounds the agent's answer in bytes.
const maxReply = 4 << 20

// statusUnavailable is the HTTP status of an agent that is stopping.
const statusUnavailable = 503

// reply is the agent's answer.
type reply struct {
	status int
	// ours says that a door for the plugin answered: body is for stdout, exit the code.
	ours bool
	exit int
	body []byte
	// note is for stderr.
	note string
}

// call sends a request over a plain socket: package net alone would double the
// time that this process takes to start.
func call(socket string, message []byte) (reply, error) {
	fd, err := dial(socket)
	if err != nil {
		return reply{}, err
	}
	defer syscall.Close(fd)
	if err := send(fd, message); err != nil {
		return reply{}, err
	}
	answer, err := receive(fd)
	if err != nil {
		return reply{}, err
	}
	return parse(answer)
}

func dial(socket string) (int, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	limit := syscall.Timeval{Sec: answerTimeout}
	for _, option := range []int{syscall.SO_RCVTIMEO, syscall.SO_SNDTIMEO} {
		if err := syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, option, &limit); err != nil {
			syscall.Close(fd)
			return -1, err
		}
	}
	for {
		switch err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}); err {
		case nil, syscall.EISCONN:
			return fd, nil
		case syscall.EINTR:
		default:
			syscall.Close(fd)
			return -1, err
		}
	}
}

func send(fd int, message []byte) error {
	for len(message) > 0 {
		// MSG_NOSIGNAL: an agent that dies now is an error, not a SIGPIPE
		n, err := syscall.SendmsgN(fd, message, nil, nil, syscall.MSG_NOSIGNAL)
		if err != nil && err != syscall.EINTR {
			return err
		}
		message = message[max(n, 0):]
	}
	return nil
}

func receive(fd int) ([]byte, error) {
	answer := make([]byte, 0, 8192)
	for {
		if len(answer) == cap(answer) {
			answer = append(answer, 0)[:len(answer)]
		}
		n, err := syscall.Read(fd, answer[len(answer):cap(answer)])
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return nil, errors.New("no answer within " + itoa(answerTimeout) + " seconds")
		case err != nil:
			return nil, err
		case n == 0:
			return answer, nil
		case len(answer)+n > maxReply:
			return nil, errors.New("the answer is too long")
		default:
			answer = answer[:len(answer)+n]
		}
	}
}

// parse takes an HTTP answer apart. One that was cut off is an error.
func parse(answer []byte) (reply, error) {
	incomplete := errors.New("the answer was cut off")
	head, body, whole := bytes.Cut(answer, []byte("\r\n\r\n"))
	lines := strings.Split(string(head), "\r\n")
	first := strings.Fields(lines[0])
	if !whole || len(first) < 2 || !strings.HasPrefix(first[0], "HTTP/1.") {
		return reply{}, incomplete
	}
	r := reply{body: body, exit: 1}
	status, err := strconv.Atoi(first[1])
	if err != nil {
		return reply{}, incomplete
	}
	r.status = status
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		number, err := strconv.Atoi(strings.TrimSpace(value))
		switch {
		case strings.EqualFold(name, "Plugin-Note"):
			r.note = strings.TrimSpace(value)
		case err != nil:
		case strings.EqualFold(name, "Content-Length") && number != len(body):
			return reply{}, incomplete
		case strings.EqualFold(name, "Cni-Exit"):
			r.ours, r.exit = true, number
		}
	}
	return r, nil
}

func itoa(n int) string { return strconv.Itoa(n) }
