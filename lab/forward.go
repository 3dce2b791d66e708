package lab

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"time"
)

// forward lets programs outside reach a socket of the guest. It listens at the same path in
// the namespaces of the emulator, and closes a connection that the guest refuses.
func forward(path string) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go forwardConnection(newChannel(c), path)
	}
}

const dialTime = 10 * time.Second

func forwardConnection(near *channel, path string) {
	defer near.Close()
	ctx, cancel := context.WithTimeout(context.Background(), dialTime)
	defer cancel()
	far, err := dialMachine(ctx)
	if err != nil {
		return
	}
	defer far.Close()
	if _, err := far.ask(ctx, request{Verb: verbDial, Name: path}); err == nil {
		splice(near, far)
	}
}
