// Package service is the built-in service of a crowd: it takes requests and answers of the sizes that a plan says,
// over TCP.
package service

import (
	"encoding/binary"
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
// first, and as many bytes more as the size says. The answer has no header.
type Request struct {
	Size   int64 // of the request, headerSize at least
	Answer int64 // size of the answer, 1 at least
}

// header is the beginning of the request.
func (r Request) header() [headerSize]byte {
	var b [headerSize]byte
	binary.BigEndian.PutUint16(b[:], uint16(r.Size>>32))
	binary.BigEndian.PutUint32(b[2:], uint32(r.Size))
	binary.BigEndian.PutUint16(b[6:], uint16(r.Answer>>32))
	binary.BigEndian.PutUint32(b[8:], uint32(r.Answer))
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
	if err := payload.Discard(c, r.Answer); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}
