// Package payload is what requests and answers are filled with, and how they are sent and read to the end without being
// held in memory.
package payload

import (
	"io"
	"runtime"
	"sync"
)

// chunk is how many bytes are written or read at once.
const chunk = 32 << 10

// buffers are shared by all connections: one that waits holds none.
var buffers = sync.Pool{New: func() any { return new([chunk]byte) }}

// content is what requests and answers are filled with. It is not all the same byte, lest something on the way
// compress it well.
var content = func() (b [chunk]byte) {
	x := uint32(1)
	for i := range b { // xorshift (Marsaglia 2003)
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
	return b
}()

// Send writes so many bytes: a head, which counts, and what fills the rest. A head that is larger is written whole.
func Send(to io.Writer, head []byte, size int64) error {
	buffer := buffers.Get().(*[chunk]byte)
	defer buffers.Put(buffer)
	n := copy(buffer[:], head)
	n += copy(buffer[n:max(int64(n), min(chunk, size))], content[:])
	if _, err := to.Write(buffer[:n]); err != nil {
		return err
	}
	return Fill(to, size-int64(n))
}

// Fill writes so many bytes. Whoever is on the other side may take them as fast as they come: others have their turn
// after each chunk, as the scheduler would take it from a goroutine only after 10 ms.
func Fill(to io.Writer, size int64) error {
	for size > 0 {
		n, err := to.Write(content[:min(chunk, size)])
		if err != nil {
			return err
		}
		size -= int64(n)
		runtime.Gosched()
	}
	return nil
}

// Discard reads so many bytes. Others have their turn as with Fill.
func Discard(from io.Reader, size int64) error {
	if size == 0 {
		return nil
	}
	buffer := buffers.Get().(*[chunk]byte)
	defer buffers.Put(buffer)
	for size > 0 {
		n, err := from.Read(buffer[:min(chunk, size)])
		size -= int64(n)
		if err != nil && size > 0 {
			if err == io.EOF {
				return io.ErrUnexpectedEOF
			}
			return err
		}
		runtime.Gosched()
	}
	return nil
}
