package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
)

func TestTableFits(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4) + "/eth0"
	head := []string{"id", "network", "addresses", "mac", "ports"}
	rows := [][]string{{id, "front", "10.20.0.2/24,fd20::2/64", "0a:00:00:00:00:09", "127.0.0.1:8080:80/tcp,[::1]:5353:53/udp"},
		{"网络端点/eth0", "front", "", "", ""}}
	for _, width := range []int{0, 60, 80, 120, 400} {
		var out bytes.Buffer
		if err := writeTable(&out, width, head, rows); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if width > 0 && text.StringWidth(line) > width {
				t.Errorf("width %d: %d columns: %s", width, text.StringWidth(line), line)
			}
			if strings.HasSuffix(line, " ") {
				t.Errorf("width %d: a space at the end of %q", width, line)
			}
		}
		whole := strings.NewReplacer("\n", "", " ", "").Replace(out.String())
		if width == 0 && !strings.Contains(whole, id) {
			t.Errorf("an id was cut:\n%s", &out)
		}
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct {
		cell  string
		width int
		want  string
	}{
		{"short", 8, "short"},
		{"10.20.0.2/24,fd20::2/64", 15, "10.20.0.2/24,\nfd20::2/64"},
		{"no place to break", 9, "no place\nto break"},
		{"0123456789", 4, "0123\n4567\n89"},
		{"网络端点", 5, "网络\n端点"},
	} {
		if got := fold(c.cell, c.width); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.cell, c.width, got, c.want)
		}
	}
}
