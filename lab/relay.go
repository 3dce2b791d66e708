package lab

import (
	"encoding/json"
	"fmt"
	"net"
	"os"

	"github.com/heddle-network/heddle/frames"
	"github.com/heddle-network/heddle/impair"
)

// A relay is a process between a host's port and the bridge of its switch. It impairs the
// frames that pass. It runs in the switch's namespaces and ends with the switch. If it dies
// alone, the host is cut off.
//
//	host1: eth0 ══ host1 ── packet socket ── relay ── TAP host1~ ══ bridge

// settings are a relay's settings, and report is its answer.
type settings struct {
	Out impair.Impairment `json:"out"`
	In  impair.Impairment `json:"in"`
}

type report struct {
	Out impair.Count `json:"out"`
	In  impair.Count `json:"in"`
}

func relayProgram(port string) string { return "relay-" + port }

// relaySocket returns the path of a relay's socket in the switch.
func relaySocket(port string) string { return "/run/" + relayProgram(port) + ".sock" }

// relay runs a relay. It returns only when it has failed.
func relay(port string) error {
	wire, err := frames.Open(port)
	if err != nil {
		return fmt.Errorf("open the port %s: %w", port, err)
	}
	device, err := frames.NewTAP(relayPort(port))
	if err != nil {
		return fmt.Errorf("open the TAP %s: %w", relayPort(port), err)
	}
	os.Remove(relaySocket(port))
	l, err := net.Listen("unix", relaySocket(port))
	if err != nil {
		return err
	}
	out, in := impair.NewRelay(1), impair.NewRelay(2)
	broken := make(chan error, 1)
	run := func(f func() error) { go func() { broken <- f() }() }
	run(func() error { return out.Read(wire.Next) })
	run(func() error { return out.Write(device) })
	run(func() error { return in.Read(frames.FromTAP(device)) })
	run(func() error { return in.Write(wire) })
	run(func() error { return serveSettings(l, out, in) })
	return <-broken
}

// serveSettings takes settings, one connection at a time.
func serveSettings(l net.Listener, out, in *impair.Relay) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		var s *settings
		if json.NewDecoder(c).Decode(&s) == nil {
			if s != nil {
				out.Set(s.Out)
				in.Set(s.In)
			}
			json.NewEncoder(c).Encode(report{out.Counted(), in.Counted()})
		}
		c.Close()
	}
}
