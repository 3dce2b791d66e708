// Package protocol is how users talk to services: what of a connection and a request is on the wire.
package protocol

import (
	"context"
	"net"

	"github.com/heddle-network/heddle/crowd/service"
)

// Request is one request of a planned step.
type Request struct {
	// Site is the site of the service, from 1. Page and Object tell apart what is asked for there, from 0: the step of the
	// session, and the request of the step.
	Site, Page, Object int
	// Sends and Receives are the sizes of request and answer, in bytes.
	Sends, Receives int64
	// Refused: the password is wrong, and the service says so. Plans have no other request on that connection.
	Refused bool
	// Has says what the user's cache has of it.
	Has Copy
}

// Copy is what a cache has of something that is asked for.
type Copy int

// What a cache may have.
const (
	// None is nothing.
	None Copy = iota
	// Current is what the service has: it says so, and sends nothing else.
	Current
	// Old is an earlier version: the service sends the one that it has.
	Old
)

// Protocol is how users talk to a service. Many connections use it at once.
type Protocol interface {
	// Network is what carries a connection: "tcp", or "udp", whose socket is connected (udp(7)).
	Network() string
	// Port is where the service listens.
	Port() uint16
	// Streams reports whether a connection carries requests beside each other. Then one is enough for a step, and Ask is called
	// for several at once.
	Streams() bool
	// Begin makes a new connection ready for requests. It closes one that cannot be.
	Begin(ctx context.Context, c net.Conn) (net.Conn, error)
	// Ask makes a request, and reads the answer to its end. After an error the connection is not used again.
	Ask(c net.Conn, r Request) error
}

// BuiltIn is that of the service that is built in.
type BuiltIn struct{}

// Network is TCP.
func (BuiltIn) Network() string { return "tcp" }

// Port is where the service listens.
func (BuiltIn) Port() uint16 { return service.Port }

// Streams: one answer comes after the other.
func (BuiltIn) Streams() bool { return false }

// Begin has nothing to do.
func (BuiltIn) Begin(_ context.Context, c net.Conn) (net.Conn, error) { return c, nil }

// Ask makes a request. A refusal is an answer like others.
func (BuiltIn) Ask(c net.Conn, r Request) error {
	return service.Ask(c, service.Request{Size: r.Sends, Answer: r.Receives, Known: r.Has == Current})
}
