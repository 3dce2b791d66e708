// Package service is the built-in service of a crowd: it takes requests and answers of the sizes that a plan says,
// over TCP.
package service

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/heddle-network/heddle/crowd/payload"
)

// Port is where the built-in service listens.
const Port = 7600

// headerSize is the least size of a request in bytes.
const headerSize = 12

// maxSize is the size of the largest request, and of the largest answer, in bytes: that of a scenario.
const maxSize = 16 << 30

// Request asks for an answer of a size. On the wire it is a header of two sizes, each of six bytes, most significant
// first, and as many bytes more as the size says; the highest bit of the second one is Known. The answer has no header.
type Request struct {
	Size   int64 // of the request, headerSize at least
	Answer int64 // size of the answer, 1 at least
	// Known: a cache has the answer, and it has not changed. The service says so in one byte, and sends nothing else.
	Known bool
}

const (
	// knownBit is that of an answer's size which says that it is known.
	knownBit = 1 << 47
	// notModified is the byte that says that an answer has not changed.
	notModified = '='
)

// header is the beginning of the request.
func (r Request) header() [headerSize]byte {
	var b [headerSize]byte
	binary.BigEndian.PutUint16(b[:], uint16(r.Size>>32))
	binary.BigEndian.PutUint32(b[2:], uint32(r.Size))
	answer := r.Answer
	if r.Known {
		answer |= knownBit
	}
	binary.BigEndian.PutUint16(b[6:], uint16(answer>>32))
	binary.BigEndian.PutUint32(b[8:], uint32(answer))
	return b
}

// readRequest reads the header of a request.
func readRequest(from io.Reader) (r Request, err error) {
	var b [headerSize]byte
	if _, err := io.ReadFull(from, b[:]); err != nil {
		return r, err
	}
	r.Size = int64(binary.BigEndian.Uint16(b[:]))<<32 | int64(binary.BigEndian.Uint32(b[2:]))
	r.Answer = int64(binary.BigEndian.Uint16(b[6:]))<<32 | int64(binary.BigEndian.Uint32(b[8:]))
	r.Known = r.Answer&knownBit != 0
	r.Answer &^= knownBit
	if r.Size < headerSize || r.Size > maxSize || r.Answer < 1 || r.Answer > maxSize {
		return r, fmt.Errorf("read request: it says %d bytes, and an answer of %d", r.Size, r.Answer)
	}
	return r, nil
}

// Ask sends a request, and reads the answer.
func Ask(c io.ReadWriter, r Request) error {
	r.Size, r.Answer = max(r.Size, headerSize), max(r.Answer, 1)
	header := r.header()
	if err := payload.Send(c, header[:], r.Size); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	var err error
	if r.Known {
		err = readUnchanged(c)
	} else {
		err = payload.Discard(c, r.Answer)
	}
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

// readUnchanged reads that an answer has not changed.
func readUnchanged(from io.Reader) error {
	var b [1]byte
	_, err := io.ReadFull(from, b[:])
	if err == nil && b[0] != notModified {
		err = errors.New("it has changed")
	}
	return err
}
