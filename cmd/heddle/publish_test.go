package main

import (
	"errors"
	"testing"

	"github.com/heddle-network/heddle"
)

func TestParsePublish(t *testing.T) {
	for in, want := range map[string]string{
		"8080:80":               "8080:80/tcp",
		"8080:80/tcp":           "8080:80/tcp",
		"53:53/udp":             "53:53/udp",
		"127.0.0.1:8080:80":     "127.0.0.1:8080:80/tcp",
		"0.0.0.0:8080:80":       "0.0.0.0:8080:80/tcp",
		"[::1]:5353:53/udp":     "[::1]:5353:53/udp",
		"[::ffff:10.0.0.1]:1:2": "10.0.0.1:1:2/tcp",
		"65535:65535":           "65535:65535/tcp",
		"":                      "",
		"80":                    "",
		"80:":                   "",
		":80":                   "",
		"0:80":                  "",
		"80:0":                  "",
		"65536:80":              "",
		"-1:80":                 "",
		"+1:80":                 "",
		"80:80/sctp":            "",
		"80:80/":                "",
		"80:80/udp/tcp":         "",
		"80-81:80-81":           "",
		"::1:80:80":             "",
		"[::1:80:80":            "",
		"[::1]80:80":            "",
		"[127.0.0.1]:80:80":     "",
		"[fe80::1%eth0]:80:80":  "",
		"localhost:80:80":       "",
		"1.2.3.4:80:80:80":      "",
		"8080:80 ":              "",
	} {
		m, err := ParsePublish(in)
		switch {
		case want == "" && !errors.Is(err, heddle.BadPort.Sentinel()):
			t.Errorf("%q: got %v, %v, want an error", in, m, err)
		case want != "" && (err != nil || m.String() != want):
			t.Errorf("%q: got %v, %v, want %s", in, m, err, want)
		}
	}
}

func FuzzParsePublish(f *testing.F) {
	for _, s := range []string{"80:80", "127.0.0.1:53:53/udp", "[::1]:1:2/tcp", "[::ffff:1.2.3.4]:1:2", "0:0", "1:2:3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParsePublish(s)
		if err != nil {
			if heddle.KindOf(err) != heddle.Usage || m != (heddle.PortMapping{}) {
				t.Fatalf("%q: %v, %v", s, m, err)
			}
			return
		}
		if m.HostPort == 0 || m.ContainerPort == 0 || (m.Protocol != "tcp" && m.Protocol != "udp") {
			t.Fatalf("%q: accepted as %v", s, m)
		}
		again, err := ParsePublish(m.String())
		if err != nil || again != m {
			t.Fatalf("%q: %v does not survive being written: %v, %v", s, m, again, err)
		}
	})
}
