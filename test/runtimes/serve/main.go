// Command serve is what the tests' containers run: it answers every caller over
// TCP and UDP with its name and the caller's address, as test/world's servers do.
//
//	serve NAME PORT…
package main

import (
	"fmt"
	"net"
	"os"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: serve NAME PORT…")
		os.Exit(2)
	}
	failed := make(chan error)
	for _, port := range os.Args[2:] {
		go func() { failed <- serveTCP(os.Args[1], ":"+port) }()
		go func() { failed <- serveUDP(os.Args[1], ":"+port) }()
	}
	fmt.Fprintln(os.Stderr, "serve:", <-failed)
	os.Exit(1)
}

func greeting(name string, caller net.Addr) []byte {
	host, _, _ := net.SplitHostPort(caller.String())
	return fmt.Appendf(nil, "%s %s\n", name, host)
}

func serveTCP(name, at string) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		c.Write(greeting(name, c.RemoteAddr()))
		c.Close()
	}
}

func serveUDP(name, at string) error {
	c, err := net.ListenPacket("udp", at)
	if err != nil {
		return err
	}
	buffer := make([]byte, 2048)
	for {
		_, from, err := c.ReadFrom(buffer)
		if err != nil {
			return err
		}
		c.WriteTo(greeting(name, from), from)
	}
}
