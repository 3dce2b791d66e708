package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/heddle-network/heddle"
)

func TestParsePublish(t *testing.T) {
	for in, want := range map[string]string{
		"8080:80":                  "8080:80/tcp",
		"8080:80/tcp":              "8080:80/tcp",
		"53:53/udp":                "53:53/udp",
		"9000:9000/sctp":           "9000:9000/sctp",
		"127.0.0.1:8080:80":        "127.0.0.1:8080:80/tcp",
		"0.0.0.0:8080:80":          "0.0.0.0:8080:80/tcp",
		"[::1]:5353:53/udp":        "[::1]:5353:53/udp",
		"[::ffff:10.0.0.1]:1:2":    "10.0.0.1:1:2/tcp",
		"65535:65535":              "65535:65535/tcp",
		"80":                       "0:80/tcp",
		"0:80":                     "0:80/tcp",
		"80/udp":                   "0:80/udp",
		"127.0.0.1::80":            "127.0.0.1:0:80/tcp",
		"[::1]::80":                "[::1]:0:80/tcp",
		"80-82":                    "0:80/tcp 0:81/tcp 0:82/tcp",
		"0:80-81":                  "0:80/tcp 0:81/tcp",
		"8000-8002:80":             "8000-8002:80/tcp",
		"1-65535:80":               "1-65535:80/tcp",
		"8000-8002:80-82/udp":      "8000:80/udp 8001:81/udp 8002:82/udp",
		"192.0.2.1:8000-8001:1-2":  "192.0.2.1:8000:1/tcp 192.0.2.1:8001:2/tcp",
		"8000-8000:80-80":          "8000:80/tcp",
		"":                         "",
		"80:":                      "",
		":80":                      "",
		"80:0":                     "",
		"0":                        "",
		"0-5:80":                   "",
		"8:0-5":                    "",
		"65536:80":                 "",
		"-1:80":                    "",
		"+1:80":                    "",
		"80:80/icmp":               "",
		"80:80/":                   "",
		"80:80/udp/tcp":            "",
		"80-81:80-82":              "",
		"80-82:80-81":              "",
		"80:80-81":                 "",
		"81-80:80":                 "",
		"80-:80":                   "",
		"-80:80":                   "",
		"80-81-82:80":              "",
		"::1:80:80":                "",
		"[::1:80:80":               "",
		"[::1]80:80":               "",
		"[127.0.0.1]:80:80":        "",
		"[fe80::1%eth0]:80:80":     "",
		"localhost:80:80":          "",
		"1.2.3.4:80:80:80":         "",
		"8080:80 ":                 "",
		strings.Repeat("8", 1<<10): "",
	} {
		all, err := ParsePublish(in)
		switch {
		case want == "" && !errors.Is(err, heddle.BadPort.Sentinel()):
			t.Errorf("%q: got %v, %v, want an error", in, all, err)
		case want != "" && (err != nil || joinWords(all) != want):
			t.Errorf("%q: got %v, %v, want %s", in, all, err, want)
		}
	}
	if all, err := ParsePublish("1-4097:1-4097"); !errors.Is(err, heddle.TooMuch.Sentinel()) || all != nil {
		t.Errorf("4097 ports: got %d, %v", len(all), err)
	}
}

func joinWords(all []heddle.PortMapping) string {
	var words []string
	for _, m := range all {
		words = append(words, m.String())
	}
	return strings.Join(words, " ")
}

func FuzzParsePublish(f *testing.F) {
	for _, s := range []string{"80:80", "127.0.0.1:53:53/udp", "[::1]:1:2/tcp", "[::ffff:1.2.3.4]:1:2", "0:0", "1:2:3", "1-3:4-6/sctp", "1-9:2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		all, err := ParsePublish(s)
		if err != nil {
			if heddle.KindOf(err) != heddle.Usage || all != nil {
				t.Fatalf("%q: %v, %v", s, all, err)
			}
			return
		}
		for _, m := range all {
			_, known := heddle.ProtocolNumber(m.Protocol)
			if m.ContainerPort == 0 || !known || m.HostPortEnd != 0 && m.HostPortEnd <= m.HostPort {
				t.Fatalf("%q: accepted as %v", s, m)
			}
			again, err := ParsePublish(m.String())
			if err != nil || len(again) != 1 || again[0] != m {
				t.Fatalf("%q: %v does not survive being written: %v, %v", s, m, again, err)
			}
		}
	})
}
