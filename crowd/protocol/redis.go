package protocol

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/heddle-network/heddle/crowd/payload"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// Redis is RESP 2, the protocol of redis (redis.io, Redis serialization protocol specification). A request is a message, and
// the question for an answer of a planned size, which is a range of a string of Content bytes. Together they are as large as
// planned; what is not counted is the login, and what frames an answer.
type Redis struct {
	// Password is that of RedisUser.
	Password string
	// TLS is how connections are secured; nil: they are not.
	TLS *tls.Config
}

// What a server has.
const (
	// RedisUser is who people log in as.
	RedisUser = "people"
	// RedisContent is the key of its content.
	RedisContent = "content"
	// RedisInbox is the stream that has the last messages, and the channel for what is larger than a message.
	RedisInbox = "inbox"
	// inboxLength is how many messages it keeps.
	inboxLength = "8"
	// largestMessage is in bytes. A larger one is published to nobody in pieces, so that the server need not store it. No source: a guess.
	largestMessage = 64 << 10
	// largestRange is in bytes: the server has two of them in memory for whoever takes an answer. No source: a guess.
	largestRange = 1 << 20
)

// Network is TCP.
func (Redis) Network() string { return "tcp" }

// Port is that of redis, with TLS and without it.
func (Redis) Port() uint16 { return 6379 }

// Streams: redis answers one command after the other.
func (Redis) Streams() bool { return false }

// Begin makes the TLS handshake, if there is one.
func (r Redis) Begin(ctx context.Context, c net.Conn) (net.Conn, error) {
	return visiting(ctx, c, r.TLS)
}

// Ask makes the request. The first one of a connection logs in before.
func (r Redis) Ask(c net.Conn, q Request) error {
	v := c.(*visit)
	return inTurn(v, func(in *bufio.Reader) error {
		if q.Refused {
			return refused(v, in, q)
		}
		if !v.in {
			if err := say(v, command("AUTH", RedisUser, r.Password)); err != nil {
				return err
			}
			if err := expect(in, "+OK"); err != nil {
				return err
			}
			v.in = true
		}
		return exchange(v, in, q)
	})
}

// refused logs in with a wrong password, which makes the request as large as planned: it is a head's size at most, as who has not
// logged in may not send much.
func refused(to io.Writer, in *bufio.Reader, q Request) error {
	out := bufio.NewWriterSize(to, 4<<10)
	filled(out, min(q.Sends, scenario.MaxHead), "AUTH", RedisUser)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	line, err := reply(in)
	if err == nil && !strings.HasPrefix(line, "-WRONGPASS ") {
		err = errors.New("read answer: redis takes a wrong password")
	}
	return err
}

// exchange sends the message, and asks for all ranges of the answer: for each one before the one before has come.
func exchange(to io.Writer, in *bufio.Reader, q Request) error {
	var now int64 // is asked for
	for size := range cut(max(q.Receives, 1), largestRange) {
		from := begins(q, size)
		ask := command("GETRANGE", RedisContent, fmt.Sprint(from), fmt.Sprint(from+size-1))
		var err error
		if now == 0 {
			err = deliver(to, in, q.Sends-int64(len(ask)), ask)
		} else if err = say(to, ask); err == nil {
			err = ranged(in, now)
		}
		if err != nil {
			return err
		}
		now = size
	}
	return ranged(in, now)
}

// deliver sends a message of a size, in bytes, and what comes after it, and reads that the server has the message.
func deliver(to io.Writer, in *bufio.Reader, size int64, last string) error {
	out := bufio.NewWriterSize(to, 4<<10)
	pieces := 0
	if size > largestMessage {
		for piece := range cut(size, largestMessage) {
			pieces++
			filled(out, piece, "PUBLISH", RedisInbox)
		}
	} else if size > 0 {
		filled(out, size, "XADD", RedisInbox, "MAXLEN", inboxLength, "*", "m")
	}
	out.WriteString(last)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	for range pieces {
		if err := expect(in, ":0"); err != nil { // nobody listens
			return err
		}
	}
	if pieces > 0 || size <= 0 {
		return nil
	}
	line, err := reply(in) // the size of the message's number
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(strings.TrimPrefix(line, "$"))
	if err != nil || number < 0 || number > 100 {
		return errors.New("read answer: it is no number of a message")
	}
	return discard(in, int64(number))
}

// ranged reads an answer of a size, in bytes.
func ranged(in *bufio.Reader, size int64) error {
	if err := expect(in, fmt.Sprint("$", size)); err != nil {
		return err
	}
	return discard(in, size)
}

// discard reads the rest of a bulk string.
func discard(in *bufio.Reader, size int64) error {
	if err := payload.Discard(in, size+2); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}
